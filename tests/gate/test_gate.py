"""Tests `plan --check` with several files: exit codes, SARIF, GitHub annotations, JSON, and cures as lines
for the files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from doctor.plan.gate import Gate, cured, gate
from doctor.plan.request import Request
from doctor.render.gate import rendered
from tests.conftest import ROOT, program

if TYPE_CHECKING:
    from typing import TypeAlias

Cli: TypeAlias = "Callable[..., subprocess.CompletedProcess[bytes]]"
MACHINE = ("--gpu", "RTX 3080", "--driver", "550.54.14", "--os", "Ubuntu 22.04")
GOOD = "tensorflow[and-cuda]==2.20.0\n"
BAD = "numpy\n# the GPU build\ntensorflow-gpu==2.15  # pinned\n"
OPEN = "tf-nightly\n"
DOCKERFILE = "FROM python:3.11\nRUN pip install tensorflow==2.15.0 \\\n    pandas\n"


def request(*files: str | Path, **options: Any) -> Request:
    given = {"os": "Ubuntu 22.04", "gpu": ("RTX 3080",), "driver": "550.54.14", **options}
    return Request(requirements=tuple(map(str, files)), **given)


def held(*files: str | Path, **options: Any) -> Gate:
    return gate(request(*files), **options)


def written(folder: Path, **files: str) -> list[Path]:
    names = {
        "good": "requirements.txt",
        "bad": "requirements-gpu.txt",
        "open": "nightly.txt",
        "docker": "Dockerfile",
    }
    paths = []
    for name, text in files.items():
        path = folder / names.get(name, f"{name}.txt")
        path.write_text(text)
        paths.append(path)
    return paths


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"good": GOOD}, 0),
        ({"good": GOOD, "other": "numpy\n"}, 0),
        ({"other": "numpy\n"}, 3),
        ({"good": GOOD, "open": OPEN}, 3),
        ({"good": GOOD, "open": OPEN, "bad": BAD}, 1),
    ],
)
def test_exit_code_is_that_of_the_worst_file(tmp_path: Path, files: dict[str, str], code: int) -> None:
    assert held(*written(tmp_path, **files)).exit_code == code


def test_the_answer_for_an_image_does_not_name_the_cuda_and_the_python_of_a_plan(tmp_path: Path) -> None:
    text = "FROM nvidia/cuda:12.5.1-cudnn-runtime-ubuntu22.04\nRUN pip install tensorflow==2.20.0\n"
    (path,) = written(tmp_path, docker=text)
    assert rendered(held(path), "text") == "ok: tensorflow 2.20.0\n"


def test_file_without_tensorflow_is_passed_over_only_on_request(tmp_path: Path) -> None:
    (path,) = written(tmp_path, other="numpy\n")
    assert held(path, passes_over=True).exit_code == 0
    assert rendered(held(path, passes_over=True), "text") == "skipped: no line requests TensorFlow\n"
    assert rendered(held(path), "text").startswith("could not examine: ")


def test_every_file_has_its_line(cli: Cli, tmp_path: Path) -> None:
    written(tmp_path, good=GOOD, bad=BAD, open=OPEN)
    done = cli("plan", "-r", "requirements.txt", "requirements-gpu.txt", "nightly.txt", "--check", *MACHINE,
               cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})  # fmt: skip
    rows = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert [row.split(": ")[:2] for row in rows] == [
        ["requirements.txt", "ok"], ["requirements-gpu.txt", "not ok"], ["nightly.txt", "could not examine"]
    ]  # fmt: skip
    assert "requirements-gpu.txt:3" in rows[1]


def schema() -> Any:
    path = ROOT / "tests" / "data" / "sarif" / "sarif-2.1.0-rtm.5.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_sarif_is_valid_and_names_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, good=GOOD, bad=BAD, open=OPEN, docker=DOCKERFILE)
    log = json.loads(
        rendered(
            held("requirements.txt", tmp_path / "requirements-gpu.txt", "./nightly.txt", "Dockerfile"),
            "sarif",
        )
    )
    jsonschema.Draft4Validator(schema()).validate(log)
    (run,) = log["runs"]
    assert run["invocations"][0]["exitCode"] == 1
    places = {}
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        where = result["locations"][0]["physicalLocation"]
        places[result["ruleId"], where["artifactLocation"]["uri"]] = (
            where["region"]["startLine"],
            result["level"],
        )
    assert places["tf-gpu-package-removed", "requirements-gpu.txt"] == (3, "error")
    assert places["undetermined", "nightly.txt"] == (1, "warning")
    assert places["known-release-bug", "Dockerfile"] == (2, "error")
    fixes = [fix for result in run["results"] for fix in result.get("fixes", ())]
    assert fixes, "a reviewer can apply the cure"


def test_schema_refuses_what_is_no_sarif() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(schema()).validate({"version": "2.1.0", "runs": [{"results": []}]})


def test_sarif_of_nothing_wrong_has_no_errors(tmp_path: Path) -> None:
    log = json.loads(rendered(held(*written(tmp_path, good=GOOD)), "sarif"))
    jsonschema.Draft4Validator(schema()).validate(log)
    assert [r for r in log["runs"][0]["results"] if r["level"] != "note"] == []


def test_annotations_stand_at_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, bad=BAD, open=OPEN)
    rows = rendered(held("requirements-gpu.txt", "nightly.txt"), "github").splitlines()
    assert rows[0].startswith(
        "::error file=requirements-gpu.txt,line=3,title=tensorflow-gpu ended with 2.11"
        " [tf-gpu-package-removed]::"
    )
    assert rows[1].startswith("::warning file=nightly.txt,line=1,title=not examined%3A tf-nightly")


HOSTILE = (
    "tensorflow-cpu==2.15.0 ; python_version > '3' # ::set-output name=x::y",
    "tensorflow==2.15.0%0A::error::owned",
    "tensorflow==${X},##[error]owned",
    "tensorflow @ https://example.org/%0D%0A::error file=a::owned",
)


@pytest.mark.parametrize("line", HOSTILE)
def test_a_file_is_no_source_of_workflow_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "##[error]requirements.txt"
    (tmp_path / name).write_text(f"{line}\n\r::error::x tensorflow\n")
    out = rendered(held(name), "github")
    assert "##[" not in out
    for row in out.splitlines():
        assert row.startswith(("tfgpu-doctor: ", "::error file=", "::warning file=", "::notice file="))
        command, _, message = row[2:].partition("::") if row.startswith("::") else ("", "", "")
        assert "\n" not in message
        assert command.count(",") <= 2, "the name of the file adds no property"


def test_json_is_that_of_plan_and_tells_each_file(tmp_path: Path) -> None:
    answer = json.loads(rendered(held(*written(tmp_path, good=GOOD, bad=BAD)), "json"))
    assert {"schema", "tool", "wish", "machine", "findings", "plans"} <= set(answer)
    assert [file["result"] for file in answer["files"]] == ["ok", "error"]
    assert answer["findings"][0]["evidence"][0]["line"] == 3


def test_included_file_is_where_the_mark_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, bad=BAD, good="-r requirements-gpu.txt\n")
    (row,) = [r for r in rendered(held("requirements.txt"), "github").splitlines() if r.startswith("::error")]
    assert "file=requirements-gpu.txt,line=3" in row


@pytest.mark.parametrize("text", [
    DOCKERFILE,
    "FROM python:3.11\nRUN pip install tensorflow-cpu==2.15.0\n",
    "FROM python:3.11\nRUN pip install 'tensorflow[and-cuda]==2.20.0' 'numpy<1.26'\n",
    "FROM tensorflow/tensorflow:2.15.0\n",
    "FROM python:3.7\nRUN pip install 'tensorflow[and-cuda]>=2.20,<2.21'\n",
    "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04\r\nRUN pip install tensorflow==2.20.0\r\n",
])  # fmt: skip
def test_cured_dockerfile_passes_and_only_its_lines_change(tmp_path: Path, text: str) -> None:
    path = tmp_path / "Dockerfile"
    path.write_bytes(text.encode())
    before = held(path)
    (change,) = cured(request(path), before)
    path.write_bytes(change.after.encode())
    assert before.exit_code == 1
    assert not [f for f in held(path).whole.findings if f.severity == "error"]
    assert len(change.after.splitlines()) == len(text.splitlines())
    assert change.after.count("\r\n") == text.count("\r\n")


def test_diff_is_what_git_applies(cli: Cli, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    written(tmp_path, docker=DOCKERFILE, bad=BAD.rstrip("\n"))
    files = ("Dockerfile", "requirements-gpu.txt")
    env = {"PYTHONPATH": str(ROOT)}
    done = cli("plan", *files, "--fix", "--diff", *MACHINE, cwd=tmp_path, env=env)
    assert done.returncode == 1, "nothing was written"
    assert (tmp_path / "Dockerfile").read_text() == DOCKERFILE
    subprocess.run(
        ["git", "apply", "--unsafe-paths", "-p1", "-"],
        input=done.stdout,
        cwd=tmp_path,
        check=True,
        timeout=30,
    )
    assert (tmp_path / "requirements-gpu.txt").read_text().endswith("tensorflow[and-cuda]==2.15.1  # pinned")
    assert held(*(tmp_path / name for name in files)).exit_code == 0


def test_fix_writes_only_with_yes(cli: Cli, tmp_path: Path) -> None:
    (path,) = written(tmp_path, docker=DOCKERFILE)
    path.chmod(0o640)
    shown = cli("plan", str(path), "--fix", *MACHINE)
    assert (shown.returncode, path.read_text()) == (1, DOCKERFILE)
    assert b"--yes" in shown.stderr
    done = cli("plan", str(path), "--fix", "--yes", *MACHINE)
    assert done.returncode == 0
    assert path.read_text() == DOCKERFILE.replace("tensorflow==2.15.0", "'tensorflow[and-cuda]==2.15.1'")
    assert path.stat().st_mode & 0o777 == 0o640
    assert cli("plan", str(path), "--diff", *MACHINE).returncode == 2
    assert cli("plan", "--fix", *MACHINE).returncode == 2


def test_file_that_is_not_utf8_is_never_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_bytes(b"# caf\xe9\ntensorflow-cpu==2.15.0\n")
    assert cured(request(path), held(path)) == []


ENVIRONMENT = """dependencies:
  - python=3.10
  - pip:
      - "tensorflow-gpu==2.12.0"  # the GPU build
"""


@pytest.mark.parametrize(
    ("name", "text", "first"),
    [
        ("requirements.txt", "tensorflow-gpu==2.12.0\n", "tensorflow==2.12.0"),
        ("requirements.txt", "tensorflow-gpu==2.12.0", "tensorflow==2.12.0"),
        ("environment.yml", ENVIRONMENT, '      - "tensorflow==2.12.0"  # the GPU build'),
        ("Pipfile", '[packages]\ntensorflow-gpu = "==2.12.0"\n', 'tensorflow = "==2.12.0"'),
    ],
)
def test_fix_with_several_requirements_has_one_in_each_line(
    tmp_path: Path, name: str, text: str, first: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    (change,) = cured(request(path), held(path))
    new = change.after.splitlines()[len(text.splitlines()) - 1 :]
    assert new[0] == first
    assert sum("nvidia-" in row for row in new) == len(new) - 1 == 7
    assert all(row.count("==") == 1 for row in new)
    path.write_text(change.after)
    assert held(path).exit_code == 0


def test_plan_prints_a_cure_of_several_lines_as_lines(cli: Cli, tmp_path: Path) -> None:
    (path,) = written(tmp_path, good="tensorflow-gpu==2.12.0\n")
    rows = [row.strip() for row in cli("plan", "-r", str(path), *MACHINE).stdout.decode().splitlines()]
    assert {"tensorflow==2.12.0", "nvidia-cudnn-cu11==8.7.0.84"} <= set(rows)


def test_poetry_keeps_its_own_form(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[tool.poetry.dependencies]\npython = ">=3.9,<3.12"\ntensorflow = "2.16.2"  # GPU\n')
    (change,) = cured(request(path), held(path))
    assert change.after.splitlines()[2] == (
        'tensorflow = {version = "==2.16.2", extras = ["and-cuda"]}  # GPU'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{GOOD}tensorflow-cpu\npandas\n", f"{GOOD}pandas\n"),
        (f"tensorflow-gpu>=2.4\n{GOOD}", GOOD),
    ],
)
def test_fix_removes_a_second_tensorflow(tmp_path: Path, before: str, after: str) -> None:
    (path,) = written(tmp_path, good=before)
    (change,) = cured(request(path), held(path))
    assert change.after == after


def test_fix_does_not_break_a_list_that_requests_a_second_tensorflow(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\ndependencies = ["tensorflow[and-cuda]==2.20.0", "tensorflow-cpu"]\n')
    before = held(path)
    assert "remove tensorflow-cpu" in str(before.whole.findings)
    assert cured(request(path), before) == []


def test_line_with_a_hash_is_left_alone(tmp_path: Path) -> None:
    (path,) = written(tmp_path, good=f"tensorflow==2.16.2 --hash=sha256:{'0' * 64}\n")
    assert cured(request(path), held(path)) == []


BASE = "FROM nvidia/cuda:12.2.0-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
RUNTIME = "FROM nvidia/cuda:11.2.2-cudnn8-runtime-ubuntu20.04\n"
BY_NAME = (
    "RUN pip3 install tensorflow==2.10 nvidia-cublas-cu11==11.11.3.6 nvidia-cudnn-cu11==8.7.0.84 'numpy<2'\n"
)
FOLDER = "/usr/local/lib/python3.10/dist-packages/nvidia"


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        ("requirements.txt", "tensorflow[and-cuda]==2.16.1\n", "warning"),
        ("requirements.txt", "tensorflow[and-cuda]==2.21.0\n", "warning"),
        ("requirements.txt", "tensorflow[and-cuda]>=2.16\n", "warning"),
        ("requirements.txt", "tensorflow[and-cuda]>=2.16,<2.21\n", ""),
        ("requirements.txt", "tensorflow==2.10\nnvidia-cudnn-cu11==8.7.0.84\nnumpy<2\n", "warning"),
        ("Dockerfile", "FROM python:3.11\nRUN pip install 'tensorflow[and-cuda]==2.21.0'\n", "error"),
        ("Dockerfile", BASE + BY_NAME, "error"),
        ("Dockerfile", RUNTIME + BY_NAME, ""),
        ("Dockerfile", f"{BASE}{BY_NAME}ENV LD_LIBRARY_PATH={FOLDER}/cudnn/lib\n", "error"),
        ("Dockerfile", f"{BASE}{BY_NAME}ENV LD_LIBRARY_PATH={FOLDER}/cudnn/lib:{FOLDER}/cublas/lib\n", ""),
        ("Dockerfile", f"{BASE}{BY_NAME}RUN ln -s {FOLDER}/*/lib/*.so.* {FOLDER}/../tensorflow/\n", ""),
    ],
)
def test_build_that_does_not_find_the_libraries_of_pip(
    tmp_path: Path, name: str, text: str, result: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = [f for f in held(path).whole.findings if f.code == "library-path"]
    assert [f.severity for f in found] == ([result] if result else [])
    assert all(any(step.kind == "manual" for step in f.prescription) for f in found)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tensorflow[and-cuda]==2.16.1", "tensorflow[and-cuda]==2.16.2"),
        ("tensorflow[and-cuda]==2.21.0", "tensorflow[and-cuda]==2.20.0"),
        ("tensorflow[and-cuda]>=2.16,<=2.21.0", "tensorflow[and-cuda]>=2.16,<=2.21.0,!=2.21.0"),
    ],
)
def test_fix_takes_a_release_that_finds_the_libraries_of_pip(tmp_path: Path, before: str, after: str) -> None:
    (path,) = written(tmp_path, good=f"{before}\n")
    (change,) = cured(request(path), held(path))
    assert change.after == f"{after}\n"


def test_links_follow_packages_that_a_fix_adds(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text(f"{BASE}RUN pip3 install tensorflow==2.10 nvidia-cudnn-cu11==8.7.0.84\n")
    (change,) = cured(request(path), held(path))
    assert "nvidia/cudnn/lib/libcudnn.so.8" in change.after
    assert "nvidia/cusolver/lib/libcusolver.so.11" in change.after
    assert change.after.count("nvidia-cudnn-cu11") == 1


def test_fix_pins_a_package_once(tmp_path: Path) -> None:
    (path,) = written(tmp_path, good="tensorflow-gpu==2.12.0\nnvidia-cudnn-cu11==8.9.4.25\n")
    (change,) = cured(request(path), held(path))
    assert change.after.count("nvidia-cudnn-cu11") == 1
    assert "nvidia-cudnn-cu11==8.7.0.84\n" in change.after


def test_the_printed_cure_of_a_dockerfile_makes_the_links_too(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text("FROM python:3.12-slim\nRUN pip install tensorflow==2.10.0 numpy\n")
    found = held(path).whole.findings
    shown = [step.text for finding in found for step in finding.prescription if step.edit is not None]
    assert any("os.symlink" in text for text in shown)


def test_machine_without_a_gpu_is_no_reason_to_change_a_dockerfile(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text(f"{BASE}{BY_NAME}")
    (change,) = cured(request(path), held(path))
    path.write_text(change.after)
    found = [f for f in gate(Request(requirements=(str(path),))).whole.findings if f.code == "gpu-absent"]
    assert all(not f.prescription for f in found)


def test_fixed_dockerfile_makes_links_that_lead_to_the_libraries(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text(f"{BASE}RUN pip3 install tensorflow==2.10 \\\n    pandas\nCMD python3\n")
    (change,) = cured(request(path), held(path))
    path.write_text(change.after)
    assert held(path).exit_code == 0
    assert not [f for f in held(path).whole.findings if f.severity != "info"]
    assert change.after.count("numpy<2") == change.after.count("nvidia-cudnn-cu11") == 1
    *_, links, last = change.after.splitlines()
    assert (links[:12], last) == ("RUN python3 ", "CMD python3")
    site = tmp_path / "site"
    for name in ("tensorflow/__init__.py", "nvidia/cudnn/lib/libcudnn.so.8"):
        (site / name).parent.mkdir(parents=True)
        (site / name).write_text("")
    env = {**os.environ, "PYTHONPATH": str(site)}
    subprocess.run(["sh", "-c", links[4:]], env=env, check=True, timeout=30)
    assert (site / "tensorflow" / "libcudnn.so.8").resolve() == site / "nvidia/cudnn/lib/libcudnn.so.8"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "tensorflow==2.15.0\ntorch==2.4.0\n",
            "in place of: torch==2.4.0; the newest releases of both that work together, because"
            " tensorflow[and-cuda]==2.15.0 and torch==2.4.0 cannot be installed together",
        ),
        (
            "tensorflow==2.12.0\nnvidia-cudnn-cu11\nnumpy<2\n",
            "Not fixed: requirements.txt:1: tensorflow==2.12.0",
        ),
        (GOOD, "There is nothing to fix."),
    ],
)
def test_fix_says_why_a_line_changes_and_what_is_left(
    cli: Cli, tmp_path: Path, text: str, words: str
) -> None:
    written(tmp_path, good=text)
    env = {"PYTHONPATH": str(ROOT)}
    done = cli("plan", "requirements.txt", "--fix", "--diff", "--python", "3.11", *MACHINE,
               cwd=tmp_path, env=env)  # fmt: skip
    assert words in done.stderr.decode()
    quiet = cli("plan", "requirements.txt", "--fix", "--diff", "-q", *MACHINE, cwd=tmp_path, env=env)
    assert quiet.stderr == b""


@pytest.mark.slow
def test_pre_commit_runs_the_hook(tmp_path: Path) -> None:
    """Runs the real client of pre-commit, which installs this project and its requirements from the package
    index."""
    pre_commit = program("pre-commit")
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    env = {"PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": "/dev/null"}

    def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=cwd,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def commit(folder: Path) -> None:
        for words in (
            ("init", "-q"),
            ("add", "-A"),
            ("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x"),
        ):
            done = run("git", *words, cwd=folder)
            assert done.returncode == 0, done.stderr

    hooks, project = tmp_path / "hooks", tmp_path / "project"
    hooks.mkdir()
    for name in ("doctor", "compat_tables"):
        shutil.copytree(ROOT / name, hooks / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, hooks / name)
    commit(hooks)
    project.mkdir()
    written(project, bad=BAD)
    (project / "Dockerfile").write_text("FROM debian:12\nRUN apt-get install -y nginx\n")
    (project / "notes.txt").write_text("tensorflow-gpu==2.15\n")
    commit(project)
    done = run(pre_commit, "try-repo", str(hooks), "tfgpu-doctor-plan", "--all-files", cwd=project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "requirements-gpu.txt: not ok: tf-gpu-package-removed" in done.stdout
    assert "Dockerfile: skipped" in done.stdout
    assert "notes.txt" not in done.stdout
    passed = run(
        pre_commit, "try-repo", str(hooks), "tfgpu-doctor-plan", "--files", "Dockerfile", cwd=project
    )
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "Passed" in passed.stdout


def test_a_machine_without_a_gpu_says_nothing_about_a_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine that runs the gate is rarely the machine that trains."""
    from doctor.facts import Absent, Facts, Platform, Source
    from doctor.plan import request as asked

    none = Absent(Source("/sys"), "nvidia gpu")
    bare = Facts((Platform(Source("here"), "linux", "x86_64"), none), "machine", "here")
    monkeypatch.setattr(asked, "machine_facts", lambda *_: bare)
    written(tmp_path, good=GOOD)
    found = gate(Request(requirements=(str(tmp_path / "requirements.txt"),)))
    assert found.context.gpu_absent
    assert not [f for f in found.whole.findings if f.code == "gpu-absent"]
    said = rendered(found, "github")
    assert "::warning" not in said
    assert "--gpu NAME plans for that GPU" in said


def test_a_cure_that_is_a_plan_is_never_half_of_it(tmp_path: Path) -> None:
    (file,) = written(tmp_path, good="tensorflow==2.16.1\n")
    found = gate(request(file, os="Windows 11", driver="535.98"))
    said = rendered(found, "github")
    assert "See the steps of `tfgpu-doctor plan`" in said
    assert "Start Ubuntu" not in said


def test_each_changed_line_is_named_once_in_the_order_of_the_file(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text("FROM python:3.12\nRUN pip install tensorflow==2.10.0\n")
    machine = ("--os", "Ubuntu 22.04", "--gpu", "T4", "--driver", "535.183.01")
    done = cli("plan", str(path), "--fix", "--diff", *machine)
    said = done.stderr.decode().splitlines()
    assert [row.partition(": ")[0] for row in said] == [f"{path}, line 1", f"{path}, line 2"]
    assert "and 1 more line" in said[1]
    assert [row.count("in place of: ") for row in said] == [1, 1], "not of a line that only the fix made"
    line = cli("plan", str(path), "--check", *machine).stdout.decode()
    assert "no TensorFlow 2.10.0 release" in line
    assert line.endswith("; --fix shows the correction\n"), "not a plan for another release"
