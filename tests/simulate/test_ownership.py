"""Tests that libraries in the cache are not loaded if another user could have put them there."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.simulate import SimulationError, build, compilation
from doctor.simulate.compilation import cache_folder
from doctor.simulate.ownership import make_private, stranger_at

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can change the owner of files"
)
SOMEBODY = 65534


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that contains a library."""
    cache = tmp_path_factory.mktemp("compiled") / "cache"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(cache))
        build(["libnvidia-ml.so.1"])
    return cache


@pytest.fixture
def built(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that belongs to this user and contains a library, on a machine without a compiler that could
    make another library."""
    shutil.copytree(compiled, tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = build(["libnvidia-ml.so.1"])
    monkeypatch.setattr(compilation, "_make", None)
    return folder


def given_away(place: Path) -> None:
    os.chown(place, SOMEBODY, SOMEBODY, follow_symlinks=False)


def open_to_all(place: Path) -> None:
    place.chmod(0o777)


def open_to_a_group(place: Path) -> None:
    os.chown(place, 0, SOMEBODY)
    place.chmod(0o775)


PLACES: dict[str, Callable[[Path], Path]] = {
    "the library": lambda folder: folder / "libnvidia-ml.so.1",
    "its folder": lambda folder: folder,
    "the folder of all versions": lambda folder: folder.parent,
    "the cache of the tool": lambda folder: folder.parent.parent,
    "the user's cache": lambda folder: folder.parent.parent.parent,
    "a folder on the way": lambda folder: folder.parent.parent.parent.parent,
}


@pytest.mark.parametrize(
    "change", [given_away, open_to_all, open_to_a_group], ids=lambda change: change.__name__
)
@pytest.mark.parametrize("place", PLACES)
def test_what_others_could_have_written_is_refused(
    place: str, change: Callable[[Path], None], built: Path
) -> None:
    where = PLACES[place](built)
    change(where)
    with pytest.raises(SimulationError) as caught:
        build(["libnvidia-ml.so.1"])
    assert f"{where} " in str(caught.value)
    assert "XDG_CACHE_HOME" in caught.value.hint


def test_what_is_ours_is_used_and_nobody_else_may_write_to_it(built: Path) -> None:
    assert build(["libnvidia-ml.so.1"]) == built
    for place in (built, *built.parents):
        if place.stat().st_mode & stat.S_ISVTX:  # the folder for the temporary files of all users
            break
        assert place.stat().st_mode & 0o022 == 0


def test_a_new_cache_is_ours_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_private(tmp_path / "a/b/c")
    finally:
        os.umask(before)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")} == {0o700}
    assert stranger_at(tmp_path / "a/b/c") == ""


def test_a_link_of_another_user_on_the_way_is_refused(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(link))
    assert build(["libnvidia-ml.so.1"]).name == built.name
    given_away(link)
    with pytest.raises(SimulationError, match="link belongs to another user"):
        build(["libnvidia-ml.so.1"])


def test_what_a_link_leads_through_counts(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "cache").rename(tmp_path / "theirs/cache")
    (tmp_path / "cache").symlink_to("theirs/cache")
    assert build(["libnvidia-ml.so.1"])
    open_to_all(tmp_path / "theirs")
    with pytest.raises(SimulationError, match="theirs can be written by everybody"):
        build(["libnvidia-ml.so.1"])


def test_a_library_that_is_a_link_is_refused(built: Path, tmp_path: Path) -> None:
    library = built / "libnvidia-ml.so.1"
    library.rename(tmp_path / "elsewhere.so")
    library.symlink_to(tmp_path / "elsewhere.so")
    with pytest.raises(SimulationError, match="is not a regular file"):
        build(["libnvidia-ml.so.1"])


def test_the_command_says_what_to_do(built: Path, tmp_path: Path) -> None:
    open_to_all(cache_folder())
    command = [sys.executable, "-m", "doctor", "simulate", "--gpu", "RTX 3070", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert "can be written by everybody" in done.stderr
    assert "set XDG_CACHE_HOME to a folder that only you can write to" in done.stderr
