"""Tests which Python interpreter counts as the one in use, and that it answers correctly whatever its site
module does."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.backports import removeprefix
from doctor.facts import PythonVersion, Symptom, TensorFlowBuild, TensorFlowVersion, Unreadable
from doctor.probe import examine as examine_machine, interpreter
from doctor.probe.interpreter import NoPythonError
from doctor.probe.machine import Machine
from tests.probe.machines import Folder

VERSION = ".".join(map(str, sys.version_info[:3]))


def live(**variables: str) -> Machine:
    """Return this machine, with only these environment variables and PATH."""
    machine = Machine.here()
    return dataclasses.replace(machine, env={"PATH": os.environ["PATH"], **variables}, cwd=None)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment without pip."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=120
    )
    return tmp_path / "venv"


def site_of(venv: Path) -> Path:
    (site,) = venv.glob("[Ll]ib/**/site-packages")
    return site


def test_the_active_environment_is_found_before_conda_and_path(venv: Path) -> None:
    found = interpreter.examine(live(VIRTUAL_ENV=str(venv), CONDA_PREFIX="/nowhere"))
    assert found.found_by == "$VIRTUAL_ENV"
    assert found.version == VERSION
    assert str(site_of(venv)) in found.path


def test_an_environment_may_be_named_by_its_folder_or_its_interpreter(venv: Path) -> None:
    by_folder = interpreter.examine(live(), str(venv))
    by_program = interpreter.examine(live(), by_folder.executable)
    assert by_folder.prefix == by_program.prefix == str(venv)


def test_a_wrong_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoPythonError, match="does not exist"):
        interpreter.examine(live(), str(tmp_path / "nothing"))
    with pytest.raises(NoPythonError, match="contains no Python: neither"):
        interpreter.examine(live(), str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(
        "/opt/python3.7/bin/python3.7"
    )  # which an upgrade of the system removed
    with pytest.raises(
        NoPythonError, match=r"bin/python leads to /opt/python3.7/bin/python3.7, which does not exist"
    ):
        interpreter.examine(live(), str(tmp_path))


def test_a_site_that_prints_and_fails_does_no_harm(venv: Path) -> None:
    noise = (
        "import sys\nprint('{\"version\": \"6.6.6\"}')\nsys.stderr.write('trouble\\n')\nraise"
        " RuntimeError('broken site')\n"
    )
    (site_of(venv) / "sitecustomize.py").write_text(noise)
    assert interpreter.examine(live(), str(venv)).version == VERSION


def test_a_site_that_ends_python_leaves_the_files_to_be_read(venv: Path) -> None:
    (site_of(venv) / "ends.pth").write_text("import os; os._exit(3)\n")
    found = interpreter.examine(live(), str(venv))
    (problem,) = [fact for fact in found.facts if isinstance(fact, Unreadable)]
    assert "status 3" in problem.reason
    assert found.version == VERSION
    assert str(site_of(venv)) in found.path


def test_a_python_that_hangs_leaves_the_files_to_be_read(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (site_of(venv) / "hangs.pth").write_text("import time; time.sleep(60)\n")
    monkeypatch.setattr(interpreter, "LIMIT", 1.0)
    found = interpreter.examine(live(), str(venv))
    (problem,) = [fact for fact in found.facts if isinstance(fact, Unreadable)]
    assert "did not answer in 1 s" in problem.reason
    assert found.version == VERSION


def test_tensorflow_is_read_and_never_imported(venv: Path, tmp_path: Path) -> None:
    site = site_of(venv)
    (site / "tensorflow/python/platform").mkdir(parents=True)
    (site / "tensorflow/__init__.py").write_text(
        f"open({str(tmp_path / 'imported')!r}, 'w')\nraise RuntimeError\n"
    )
    info = (
        "import collections\nbuild_info = collections.OrderedDict([('is_cuda_build', True), ('cuda_version',"
        " '12.2')])\n"
    )
    (site / "tensorflow/python/platform/build_info.py").write_text(info)
    (site / "tensorflow-2.15.1.dist-info").mkdir()
    facts = examine_machine(live(), str(venv))
    assert [fact.version for fact in facts.of(TensorFlowVersion)] == ["2.15.1"]
    assert [(fact.gpu, fact.cuda) for fact in facts.of(TensorFlowBuild)] == [(True, "12.2")]
    assert not (tmp_path / "imported").exists()


def test_pythonpath_and_the_current_folder_come_first(venv: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/tensorflow.py").write_text("")
    machine = dataclasses.replace(live(PYTHONPATH=str(tmp_path / "project")), cwd=str(tmp_path))
    strays = examine_machine(machine, str(venv)).symptoms("stray-tensorflow-module")
    assert [stray.get("path") for stray in strays] == [str(tmp_path / "project/tensorflow.py")]


@pytest.mark.parametrize(
    "python", ["python2.7", "python3.6", "python3.7", "python3.8", "python3.9", "python3.13"]
)
def test_other_python_versions_can_run_the_script(python: str) -> None:
    version = removeprefix(python, "python")
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    path = str(kept[-1]) if kept else live().which(python)
    if path is None or subprocess.run([path, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"no {python} here")
    found = interpreter.examine(live(), path)
    assert (found.version or "").startswith(version)
    assert not [fact for fact in found.facts if isinstance(fact, Unreadable)]


# --- from files alone


def test_without_variables_the_environment_that_contains_tensorflow_is_chosen(tmp_path: Path) -> None:
    machine = Folder(tmp_path).python(prefix="/home/me/venv").tensorflow("2.15.1")
    machine.record["env"] = {}
    facts = machine.facts()
    assert facts.of(TensorFlowVersion)[0].location == "/home/me/venv/lib/python3.11/site-packages/tensorflow"
    assert [fact.version for fact in facts.of(PythonVersion)] == ["3.11.9"]


def test_the_python_version_is_read_from_conda_meta(tmp_path: Path) -> None:
    facts = Folder(tmp_path).conda("3.10").facts()
    assert [fact.version for fact in facts.of(PythonVersion)] == ["3.10.12"]


def test_pth_files_add_their_folders(tmp_path: Path) -> None:
    machine = Folder(tmp_path).python()
    machine.write(f"{machine.site}/more.pth", "# a comment\nimport os\n/srv/packages\n")
    machine.site = "/srv/packages"
    facts = machine.tensorflow("2.15.1").facts()
    assert facts.of(TensorFlowVersion)[0].version == "2.15.1"


def test_build_info_of_every_generation(tmp_path: Path) -> None:
    from doctor.probe.build import build_info

    assert build_info("is_cuda_build = True\ncuda_version_number = '10.0'\n")["cuda_version_number"] == "10.0"
    assert (
        build_info("build_info = {'is_cuda_build': True, 'cuda_version': '64_112'}")["cuda_version"]
        == "64_112"
    )
    assert build_info("import os\nos.system('echo')\nis_cuda_build = False") == {"is_cuda_build": False}
    assert build_info("def (") == {}
    assert build_info("x = " + "(" * 5000) == {}


def test_the_owner_of_the_files_is_the_distribution_whose_record_fits(tmp_path: Path) -> None:
    machine = Folder(tmp_path).python().tensorflow("2.15.1").tensorflow("2.15.1", "tensorflow-cpu", gpu=False)
    facts = machine.facts()
    assert facts.of(TensorFlowVersion)[0].package == "tensorflow-cpu"
    (several,) = facts.symptoms("tensorflow-several")
    assert isinstance(several, Symptom)
    assert several.get("owner") == "tensorflow-cpu"
