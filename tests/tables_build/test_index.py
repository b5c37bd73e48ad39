"""Tests the code that reads the package index: the address from pip's settings, pages in both formats, and
failures."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import requests

from doctor.backports import removesuffix
from doctor.tables.reading.registry import RegistryError, parse_index, project_files, settings_from_pip
from doctor.tables.reading.remote import Remote, RemoteError
from tests.tables_build.made_wheels import Index, make_wheel, served

PAGE = "https://index.example/simple/tensorflow/"
SHA = "a" * 64


def test_an_html_page_gives_address_hash_python_and_yanked() -> None:
    page = f"""<!DOCTYPE html><html><body>
      <a href="../../files/tensorflow-2.0.0-cp37-cp37m-manylinux2010_x86_64.whl#sha256={SHA}"
         data-requires-python="&gt;=3.5">tensorflow-2.0.0-cp37-cp37m-manylinux2010_x86_64.whl</a><br/>
      <a href="https://files.example/tensorflow-2.0.1.tar.gz#sha256={SHA}" data-yanked="broken &amp; gone">
        tensorflow-2.0.1.tar.gz</a>
      <a data-yanked href="/x/tensorflow-2.0.2.tar.gz">tensorflow-2.0.2.tar.gz</a></body></html>"""
    first, second, third = parse_index(page, "text/html; charset=utf-8", PAGE)
    assert first.url == "https://index.example/files/tensorflow-2.0.0-cp37-cp37m-manylinux2010_x86_64.whl"
    assert (first.sha256, first.requires_python, first.yanked) == (SHA, ">=3.5", None)
    assert (second.filename, second.yanked) == ("tensorflow-2.0.1.tar.gz", "broken & gone")
    assert (third.url, third.sha256, third.yanked) == (
        "https://index.example/x/tensorflow-2.0.2.tar.gz",
        "",
        "",
    )


def test_a_json_page_gives_the_same() -> None:
    page = """{"meta": {"api-version": "1.1"}, "name": "tensorflow", "files": [
      {"filename": "a.whl", "url": "../../files/a.whl", "hashes": {"sha256": "%s"},
       "requires-python": ">=3.5"},
      {"filename": "b.whl", "url": "https://files.example/b.whl", "hashes": {}, "yanked": "broken"},
      {"filename": "c.whl", "url": "c.whl", "hashes": {}, "yanked": true},
      {"filename": "d.whl", "url": "d.whl", "hashes": {}, "yanked": false}]}"""
    first, second, third, fourth = parse_index(page % SHA, "application/vnd.pypi.simple.v1+json", PAGE)
    assert (first.url, first.sha256) == ("https://index.example/files/a.whl", SHA)
    assert (first.requires_python, first.yanked) == (">=3.5", None)
    assert (second.yanked, third.yanked, fourth.yanked) == ("broken", "", None)


def test_an_invalid_json_page_is_an_error_that_says_so() -> None:
    with pytest.raises(RegistryError, match="not a PEP 691 document"):
        parse_index('{"message": "go away"}', "application/json", PAGE)


def test_the_environment_overrides_the_files_and_install_overrides_global() -> None:
    listed = "\n".join(
        [
            ":env:.cert='/etc/ssl/ca.pem'",
            "global.index-url='https://global.example/simple/'",
            "install.index-url='https://install.example/simple'",
            "global.extra-index-url='file:///opt/one file:///opt/two'",
            "global.cert='/global.pem'",
            "global.proxy='http://proxy.example:3128'",
            "list.format='columns'",
            "not a setting at all",
        ]
    )
    settings = settings_from_pip(listed)
    assert settings.indexes == ("https://install.example/simple", "file:///opt/one", "file:///opt/two")
    assert settings.cert == "/etc/ssl/ca.pem"
    assert settings.proxy == "http://proxy.example:3128"


def test_without_any_setting_the_address_is_pips_default() -> None:
    (address,) = settings_from_pip("").indexes
    assert address.startswith("https://")
    assert address.endswith("/simple")


@pytest.mark.parametrize("json_form", [False, True])
def test_the_served_page_is_read_in_either_form(tmp_path: Path, json_form: bool) -> None:
    make_wheel(tmp_path / "tensorflow-9.1.0-cp311-cp311-win_amd64.whl", {"x": "y"})
    with served(Index(tmp_path, json_form=json_form)) as index:
        (file,) = project_files(
            "tensorflow", (index.url,), Remote(requests.Session, named=["http://127.0.0.1"])
        )
    assert file.filename == "tensorflow-9.1.0-cp311-cp311-win_amd64.whl"
    assert file.requires_python == ">=3.9"
    assert len(file.sha256) == 64


def test_the_first_index_wins_and_one_without_the_project_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    make_wheel(tmp_path / "one/tensorflow-9.1.0-cp311-cp311-win_amd64.whl", {"x": "first"})
    make_wheel(tmp_path / "two/tensorflow-9.1.0-cp311-cp311-win_amd64.whl", {"x": "second"})
    with served(Index(tmp_path / "one")) as one, served(Index(tmp_path / "two")) as two:
        remote = Remote(requests.Session, named=["http://127.0.0.1"])
        (file,) = project_files("tensorflow", ("file:///nonexistent/simple", one.url, two.url), remote)
    assert file.url.startswith(removesuffix(one.url, "/simple"))


def test_an_unreachable_registry_is_an_error_with_the_next_step() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://user:secret@127.0.0.1:{unused.getsockname()[1]}/simple"
        with pytest.raises(RegistryError) as caught:
            project_files(
                "tensorflow", (address,), Remote(requests.Session, named=["http://127.0.0.1"], pause_s=0)
            )
    message = str(caught.value)
    assert "Connection refused" in message
    assert "Next: check the network" in message
    assert "the bundled tables are used" in message
    assert "secret" not in message


def test_a_project_that_no_index_has_is_an_error_with_the_next_step(tmp_path: Path) -> None:
    with served(Index(tmp_path)) as index, pytest.raises(
        RegistryError, match="Next: look at the output of `pip config list`"
    ):
        project_files("tensorflow", (index.url,), Remote(requests.Session, named=["http://127.0.0.1"]))


def test_a_server_without_range_requests_is_an_error_that_says_so(tmp_path: Path) -> None:
    make_wheel(tmp_path / "tensorflow-9.1.0-cp311-cp311-win_amd64.whl", {"x": "y"})
    with served(Index(tmp_path, ranges=False)) as index, pytest.raises(
        RemoteError, match="ignores range requests"
    ):
        Remote(requests.Session, named=["http://127.0.0.1"]).size(
            index.url.replace("simple", "files") + "/tensorflow-9.1.0-cp311-cp311-win_amd64.whl"
        )
