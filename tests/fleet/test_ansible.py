"""Runs the playbook in docs/fleet.md with ansible-core on real ssh hosts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest

from tests.fleet.conftest import ROOT, Hosts
from tests.tensorflow_envs import package_env

Fleet = Callable[..., "subprocess.CompletedProcess[str]"]
PAGE = ROOT / "docs" / "fleet.md"


@pytest.fixture(scope="session")
def ansible() -> Path:
    """The path of ansible-playbook, in an environment that is kept in a cache."""
    try:
        return package_env("fleet-ansible", ["ansible-core>=2.15"]).parent / "ansible-playbook"
    except RuntimeError as error:
        pytest.skip(f"no ansible-core here: {error}"[:300])


@pytest.mark.slow
def test_the_playbook_collects_what_fleet_read_compares(
    ansible: Path, hosts: Hosts, fleet: Fleet, tmp_path: Path
) -> None:
    playbook = re.search(r"```yaml\n(- hosts:.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert playbook
    assert len(playbook[1].splitlines()) <= 10
    (tmp_path / "fleet.yml").write_text(playbook[1])
    tool = tmp_path / "tfgpu-doctor.pyz"
    shutil.make_archive(str(tool), "zip", _tool(tmp_path))
    tool.with_name("tfgpu-doctor.pyz.zip").rename(tool)
    (tmp_path / "inventory").write_text(
        f"n1\nn2\nn3\nrefuses\n[all:vars]\nansible_python_interpreter={sys.executable}\n"
    )
    done = subprocess.run(
        [str(ansible), "-i", "inventory", "fleet.yml", "--ssh-common-args", f"-F {hosts.config}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        stdin=subprocess.DEVNULL,
        env={
            **os.environ,
            "ANSIBLE_HOST_KEY_CHECKING": "True",
            "HOME": str(tmp_path),
            "ANSIBLE_LOCAL_TEMP": str(tmp_path),
            "ANSIBLE_SSH_TRANSFER_METHOD": "piped",
            # the path of a socket has at most 108 bytes
            "ANSIBLE_SSH_ARGS": "-o ControlMaster=no",
            "LC_ALL": "C.UTF-8",
        },
    )
    for left in ("tfgpu-doctor.pyz", "tfgpu-doctor.json"):
        Path("/tmp", left).unlink(missing_ok=True)
    assert "unreachable=1" in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "reports").is_dir(), done.stdout + done.stderr
    document = json.loads(fleet("read", str(tmp_path / "reports"), "--format", "json").stdout)
    assert [(node["name"], node["status"]) for node in document["nodes"]] == [
        (name, "answered") for name in ("n1", "n2", "n3")
    ], done.stdout


def _tool(folder: Path) -> str:
    """Return a folder with the contents of the single-file program, made from the packages that are installed
    here."""
    import packaging

    place = folder / "tool"
    for source in (ROOT / "doctor", ROOT / "compat_tables", Path(packaging.__file__).parent):
        shutil.copytree(source, place / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "scripts" / "one_file" / "main.py", place / "__main__.py")
    return str(place)
