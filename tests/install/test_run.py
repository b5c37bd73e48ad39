"""Tests that an installation leaves the machine as it was if it fails, is interrupted or finds something in
its way."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doctor.compat.workarounds import Link
from doctor.errors import UsageError
from doctor.install.inside import MEMORY_GROWTH, write_links
from doctor.install.job import Action, Job
from doctor.install.run import InstallFailedError, Log, run
from doctor.tables import Tables
from tests.install.jobs import HERE, imported, job
from tests.privacy.secrets import PRIVATE, SECRETS

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="TensorFlow has no final release for this Python"
)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    made = Log(tmp_path / "install.log")
    yield made
    made.close()


def left(folder: Path) -> set[str]:
    """Return the contents of a folder, without the test's own index, cache and log."""
    return {p.name for p in folder.iterdir()} - {"index", "cache", "install.log"}


@pytest.mark.slow  # makes a whole environment with venv and pip: ten seconds of processor time
def test_environment_is_made_by_real_pip(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], log: Log
) -> None:
    index("tensorflow", "2.20.0")
    made = job(tables, tmp_path / "tf", memory_growth=True)
    written = run(made, log, quiet=True)
    assert written == [str(made.site_packages / MEMORY_GROWTH)]
    assert imported(made) == ["2.20.0", "true"]
    assert left(tmp_path) == {"tf"}, "the journal is removed"
    text = log.path.read_text()
    assert "-m venv" in text
    assert "tensorflow[and-cuda]==2.20.0" in text


@pytest.mark.slow
def test_failing_package_leaves_nothing_behind(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], log: Log
) -> None:
    index("tensorflow", "2.20.0", ("no-such-package-at-all",))
    with pytest.raises(InstallFailedError, match="no-such-package-at-all"):
        run(job(tables, tmp_path / "deep" / "down" / "tf"), log, quiet=True)
    assert left(tmp_path) == set(), "the folders above are removed too"


@pytest.mark.slow
def test_an_incomplete_environment_is_kept_on_request(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], log: Log
) -> None:
    index("tensorflow", "2.20.0", ("no-such-package-at-all",))
    with pytest.raises(InstallFailedError):
        run(job(tables, tmp_path / "tf"), log, keep=True, quiet=True)
    assert left(tmp_path) == {"tf"}
    (tmp_path / "tf" / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="already exists"):
        run(job(tables, tmp_path / "tf"), log, quiet=True)
    assert (tmp_path / "tf" / "thesis.tex").exists(), "the kept files belong to the user"


@pytest.mark.slow
def test_hash_mismatch_is_named_and_undone(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], log: Log
) -> None:
    index("tensorflow", "2.20.0", hash="0" * 64)
    with pytest.raises(InstallFailedError, match="its hash differs") as caught:
        run(job(tables, tmp_path / "tf"), log, quiet=True)
    assert "index or proxy" in caught.value.hint
    assert left(tmp_path) == set()


@pytest.mark.slow
def test_no_network_is_named_and_undone(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(InstallFailedError, match="could not be reached"):
        run(job(tables, tmp_path / "tf"), log, quiet=True)
    assert left(tmp_path) == set()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="mounting a small disk needs root")
def test_full_disk_is_named_and_undone(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], log: Log
) -> None:
    index("tensorflow", "2.20.0", files={"tensorflow/large.bin": "x" * (60 << 20)})
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", small], capture_output=True, check=False
    ).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        with pytest.raises(InstallFailedError, match="the disk is full"):
            run(job(tables, small / "tf"), log, quiet=True)
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


def test_an_existing_folder_is_not_touched(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], log: Log
) -> None:
    env = tmp_path / "tf"
    env.mkdir()
    (env / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="already exists"):
        run(job(tables, env), log, quiet=True)
    assert (env / "thesis.tex").read_text() == "years of work"


@pytest.mark.slow
def test_the_replaced_folder_comes_back_if_the_new_one_fails(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], log: Log
) -> None:
    env = tmp_path / "tf"
    env.mkdir()
    (env / "old").write_text("still good")
    (env / "pyvenv.cfg").touch()
    with pytest.raises(InstallFailedError):
        run(job(tables, env), log, replace=True, quiet=True)  # the index contains no tensorflow
    assert left(tmp_path) == {"tf"}
    assert (env / "old").read_text() == "still good"
    index("tensorflow", "2.20.0")
    run(job(tables, env), log, replace=True, quiet=True)
    assert left(tmp_path) == {"tf"}
    assert not (env / "old").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
def test_interrupted_installation_leaves_nothing_behind(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], number: int
) -> None:
    """The whole command runs in its own process and is interrupted while pip waits for an answer that never
    comes."""
    import socket

    server = socket.create_server(("127.0.0.1", 0))
    try:
        code = (
            "import sys; from pathlib import Path; from doctor.tables import Tables; from doctor.install.run"
            " import Log, run\nfrom tests.install.jobs import job\np = Path(sys.argv[1]); made ="
            " job(Tables.bundled(), p / 'tf')\nprint('ready', flush=True); run(made, Log(p / 'install.log'),"
            " quiet=True)"
        )
        environment = {
            **os.environ,
            "PIP_INDEX_URL": f"http://127.0.0.1:{server.getsockname()[1]}/simple",
            "PYTHONPATH": str(ROOT),
        }
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment, cwd=ROOT,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        server.settimeout(90)
        connection, _ = server.accept()  # pip has sent a request, so the environment exists by now
        assert (tmp_path / "tf" / "pyvenv.cfg").exists()
        process.send_signal(number)
        assert process.wait(60) != 0
        connection.close()
        process.communicate()
    finally:
        server.close()
    for _ in range(50):
        if not (tmp_path / "tf").exists():
            break
        time.sleep(0.1)
    assert left(tmp_path) == set()
    assert "removed" in (tmp_path / "install.log").read_text()


@pytest.mark.slow
def test_missing_library_of_a_link_fails_and_is_undone(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], log: Log
) -> None:
    index("tensorflow", "2.21.0")
    made = job(tables, tmp_path / "tf", "2.21.0")
    assert made.links
    with pytest.raises(InstallFailedError, match="libcusolver"):
        run(made, log, quiet=True)
    assert left(tmp_path) == set()


def test_links_are_relative_and_made_once(tmp_path: Path) -> None:
    for folder in ("nvidia/cudnn/lib", "nvidia/cuda_runtime/lib", "tensorflow"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("libcudnn.so.8", "libcudnn_ops_infer.so.8"):
        (tmp_path / "nvidia/cudnn/lib" / name).touch()
    links = (
        Link("libcudnn.so.8", "nvidia/cudnn/lib", "nvidia/cuda_runtime/lib"),
        Link("libcudnn_ops_infer.so.8", "nvidia/cudnn/lib", "tensorflow"),
    )
    made = write_links(tmp_path, links)
    assert {p.name: os.readlink(p) for p in made} == {
        "libcudnn.so.8": "../../cudnn/lib/libcudnn.so.8",
        "libcudnn_ops_infer.so.8": "../nvidia/cudnn/lib/libcudnn_ops_infer.so.8",
    }
    assert write_links(tmp_path, links) == []


def test_cudnn_is_linked_with_its_parts(tables: Tables, tmp_path: Path) -> None:
    """cuDNN loads its parts from the folder in which the main library was found."""
    linked = {
        link.library for link in job(tables, tmp_path / "tf", "2.16.1" if HERE < "3.13" else "2.21.0").links
    }
    assert "libcudnn.so.8" not in linked or "libcudnn_ops_infer.so.8" in linked


def test_program_that_cannot_be_started_is_an_error_not_a_traceback(
    tmp_path: Path, log: Log, tables: Tables, index: Callable[..., Path]
) -> None:
    made = job(tables, tmp_path / "tf")
    broken = Job(made.plan, made.env, (Action(("/no/such/program",), "never"),))
    with pytest.raises(InstallFailedError, match="cannot be started"):
        run(broken, log, quiet=True)


@pytest.mark.slow
def test_nothing_is_installed_into_the_python_that_runs_the_tool(
    tables: Tables, tmp_path: Path, index: Callable[..., Path], log: Log
) -> None:
    index("tensorflow", "2.20.0")
    made = job(tables, tmp_path / "tf")
    run(made, log, quiet=True)
    assert made.site_packages.joinpath("tensorflow").is_dir()
    with contextlib.suppress(FileNotFoundError):
        assert shutil.which("python", path=str(made.env / "bin"))
    assert HERE in str(made.site_packages)


def test_log_and_error_hold_nothing_private(
    tables: Tables, tmp_path: Path, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installer's output contains every kind of secret and private name. No message shows a secret from
    its last line."""
    monkeypatch.setenv("HOME", "/root")
    made = job(tables, tmp_path / "tf")
    rows = {
        name: (text, private) for name, (text, private) in {**SECRETS, **PRIVATE}.items() if "\n" not in text
    }
    last = "ERROR: cannot read https://u:pw/hunterzwei/slash@repo.corp.example/simple with --token hunterzwei"
    code = f"import sys; print('\\n'.join([*{[text for text, _ in rows.values()]!r}, {last!r}])); sys.exit(1)"
    program = tmp_path / "installer.py"
    program.write_text(code, encoding="utf-8")
    with pytest.raises(InstallFailedError, match="cannot read") as caught:
        run(
            Job(made.plan, made.env, (Action((sys.executable, str(program)), "TensorFlow"),)), log, quiet=True
        )
    assert "hunterzwei" not in str(caught.value)
    for text, _ in rows.values():
        log.say(text)
    written = log.path.read_text(encoding="utf-8")
    assert written.count("cannot read") == 1
    assert not [name for name, (_, private) in rows.items() if private in written]
