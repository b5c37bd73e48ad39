"""Tests that none of the user's files is lost, whenever an installation is ended, and that the next
installation repairs the folder."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doctor.errors import UnableError, UsageError
from doctor.install.job import Action, Job
from doctor.install.run import InstallFailedError, Log, run
from doctor.install.target import foreign, journal_path, look
from doctor.tables import Tables
from tests.install.jobs import job
from tests.sampling import sampled

if TYPE_CHECKING:
    from typing import TypeAlias

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals and fork"),
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="TensorFlow has no final release for this Python"),
]
ROOT = Path(__file__).resolve().parents[2]
STEPS = frozenset(
    ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "open", "subprocess.Popen")
)
"""The audit events of calls that change a file system."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder for the environment. Its parent folder does not exist yet either."""
    return tmp_path / "work" / "tf"


Make: TypeAlias = "Callable[..., Job]"


@pytest.fixture
def make(tables: Tables, place: Path) -> Make:
    """Make a job whose commands take no time. They make the files that venv and an installer would make, and
    may then fail."""
    planned = dataclasses.replace(job(tables, place), links=())

    def made(last: str = "true") -> Job:
        script = (
            'mkdir -p "$0/lib/python3/site-packages/tf" "$0/bin" && touch "$0/pyvenv.cfg"'
            ' "$0/lib/python3/site-packages/tf/a.py"'
        )
        actions = (
            Action(("sh", "-c", script, str(place)), "an environment"),
            Action(("sh", "-c", last, str(place)), "TensorFlow"),
        )
        return dataclasses.replace(planned, actions=actions)

    return made


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Callable[[str], Log]]:
    """A function that opens logs by name. They are closed at the end."""
    made: list[Log] = []

    def opened(name: str = "a") -> Log:
        made.append(Log(tmp_path / f"{name}.log"))
        return made[-1]

    yield opened
    for one in made:
        one.close()


STRIDES = [13, pytest.param(1, marks=pytest.mark.slow)]
"""The distances between the steps at which a signal is sent."""


def old_environment(place: Path) -> None:
    place.mkdir(parents=True)
    (place / "pyvenv.cfg").touch()
    (place / "old").write_text("still good")


def in_a_child(work: Callable[[], object]) -> int:
    """Do some work in a forked child. Returns the child's exit status, or the negative number of the signal
    that ended it."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for number in (1, 2):
                os.dup2(null, number)
            work()
            status = 0
        except (UnableError, UsageError):
            status = 3
        except KeyboardInterrupt:
            status = 130
        finally:
            os._exit(status)
    status = os.waitpid(pid, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def free_again(place: Path) -> None:
    """Wait until the programs that a killed process started have ended."""
    for _ in range(100):
        with contextlib.suppress(UnableError):
            look(place, replacing=False)
            return
        time.sleep(0.1)


def struck(number: int, at: int, work: Callable[[], object]) -> int:
    """Do the work in a forked child, and send the child a signal at every change to the file system from
    number `at` on."""

    def strike() -> None:
        seen = 0

        def watch(event: str, _arguments: tuple[object, ...]) -> None:
            nonlocal seen
            if event in STEPS:
                seen += 1
                if seen >= at:
                    os.kill(os.getpid(), number)

        sys.addaudithook(watch)
        work()

    return in_a_child(strike)


def strays(tmp_path: Path, temporary: Path) -> list[str]:
    """Return the files that remain besides the environment and the log."""
    return (
        sorted(
            str(p.relative_to(tmp_path))
            for folder in (temporary, tmp_path / "work")
            for p in folder.glob("*")
            if p != tmp_path / "work" / "tf"
        )
        if (tmp_path / "work").exists()
        else sorted(map(str, temporary.iterdir()))
    )


@pytest.mark.parametrize("stride", STRIDES)
def test_killed_at_any_step_the_next_run_repairs_it(
    stride: int, tmp_path: Path, place: Path, make: Make, temporary: Path, log: Callable[[str], Log]
) -> None:
    """The process is killed with SIGKILL at every step of an installation that fails, and of one that
    succeeds."""

    def attempt(last: str) -> None:
        run(make(last), log("a"), quiet=True)

    for last in ("false", "true"):
        at = 1 - stride
        while True:
            at += stride
            code = struck(signal.SIGKILL, at, partial(attempt, last))
            if code == 0 or (code == 3 and last == "false"):
                break
            assert code == -signal.SIGKILL
            with contextlib.suppress(UsageError):  # it was complete
                run(make(), log("a"), quiet=True)
            assert (place / "pyvenv.cfg").exists(), (last, at)
            assert strays(tmp_path, temporary) == [], (last, at)
            subprocess.run(["rm", "-r", str(place.parent)], check=True)
        assert at > 10


@pytest.mark.parametrize("stride", STRIDES)
def test_killed_at_any_step_the_replaced_environment_is_never_lost(
    stride: int, tmp_path: Path, place: Path, make: Make, temporary: Path, log: Callable[[str], Log]
) -> None:
    for last in ("false", "true"):
        at = 1 - stride
        while True:
            at += stride
            if not place.exists():
                old_environment(place)
            code = struck(
                signal.SIGKILL, at, lambda last=last: run(make(last), log("a"), quiet=True, replace=True)
            )  # type: ignore[misc]
            if code == 0 or (code == 3 and last == "false"):
                break
            assert code == -signal.SIGKILL
            olds = [p for p in place.parent.rglob("old") if p.read_text() == "still good"]
            new = (place / "lib").exists() and not (place / "old").exists()
            assert olds or new, (last, at)
            with pytest.raises(UsageError, match="already exists"):
                run(make(), log("a"), quiet=True)
            assert (place / "old").exists() is not (place / "lib").exists(), (last, at)
            assert (place / "pyvenv.cfg").exists()
            assert strays(tmp_path, temporary) == [], (last, at)
            subprocess.run(["rm", "-r", str(place)], check=True)
        assert at > 10


SIGNALS = {"ctrl-c": signal.SIGINT, "terminated": signal.SIGTERM, "hung up": signal.SIGHUP}


@pytest.mark.parametrize(("stride", "name"), sampled(itertools.product((9, 1), SIGNALS), 1))
def test_repeated_signals_do_not_prevent_the_cleanup(
    stride: int,
    tmp_path: Path,
    place: Path,
    make: Make,
    temporary: Path,
    log: Callable[[str], Log],
    name: str,
) -> None:
    """The process gets a signal at one step of the work and at every later step, including the steps of the
    clean-up."""
    number = SIGNALS[name]
    at, ended = 1 - stride, set()
    while True:
        at += stride
        if not place.exists():
            old_environment(place)
        code = struck(number, at, lambda: run(make("false"), log("a"), quiet=True, replace=True))
        ended.add(code)
        if code == 3:
            break
        if code == -number or not journal_path(place).exists():  # before the work began, or during it
            assert (place / "old").read_text() == "still good", at
        if code == 130:
            assert strays(tmp_path, temporary) == [], at
    assert 130 in ended


def test_files_that_a_user_put_into_an_incomplete_environment_stay(
    tmp_path: Path, place: Path, make: Make, temporary: Path, log: Callable[[str], Log]
) -> None:
    for put in ("thesis.tex", "bin/mine.sh", "lib/python3/site-packages/mine.py"):
        code = in_a_child(lambda: run(make("kill -9 $PPID; exec sleep 5"), log("a"), quiet=True))
        assert code == -signal.SIGKILL
        assert journal_path(place).exists()
        free_again(place)
        written = place / put
        written.write_text("years of work")
        later = time.time() + 60  # as if written a minute later; only the system sets the change time
        os.utime(written, (later, later))
        with pytest.raises(UsageError, match=put.replace(".", r"\.") + " in it was not created by"):
            run(make(), log("b"), quiet=True)
        assert written.read_text() == "years of work"
        subprocess.run(["rm", "-r", str(place)], check=True)


def test_file_that_appears_while_it_is_made_keeps_the_folder(
    tmp_path: Path,
    place: Path,
    make: Make,
    temporary: Path,
    log: Callable[[str], Log],
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(InstallFailedError):
        run(make('echo years > "$0/thesis.tex"; false'), log("a"))
    assert (place / "thesis.tex").exists()
    assert "thesis.tex in it was not created by the installation" in capfd.readouterr().err


def test_what_packages_install_beside_the_libraries_is_not_foreign(place: Path) -> None:
    info = place / "lib/python3.12/site-packages/a-1.dist-info"
    info.mkdir(parents=True)
    (place / "nvvm").mkdir()
    assert foreign(place) == "nvvm"
    (info / "RECORD").write_text("../../../nvvm/libdevice.bc,,\na/__init__.py,,\n")
    assert foreign(place) is None


def test_second_installation_into_the_same_folder_is_refused_and_says_who_holds_it(
    tmp_path: Path, place: Path, make: Make, temporary: Path, log: Callable[[str], Log]
) -> None:
    """There are two processes. The installer in the first is still running when the second starts."""
    go = tmp_path / "go"
    waits = f'touch "$0/here"; while [ ! -e "{go}" ]; do sleep 0.05; done; rm "$0/here"'
    pid = os.fork()
    if pid == 0:
        try:
            run(make(waits), log("first"), quiet=True)
            os._exit(0)
        finally:
            os._exit(99)
    while not (place / "here").exists():
        time.sleep(0.02)
    with pytest.raises(UnableError, match=f"another installation into .*process {pid}, since 2") as caught:
        run(make(), log("second"), quiet=True, replace=True)
    assert caught.value.exit_code == 3
    with pytest.raises(UnableError, match="is running"):
        look(place, replacing=False)
    go.touch()
    assert os.waitpid(pid, 0)[1] == 0
    assert (place / "pyvenv.cfg").exists()
    assert strays(tmp_path, temporary) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
def test_installer_ends_with_the_killed_process(
    tmp_path: Path, place: Path, make: Make, temporary: Path, log: Callable[[str], Log]
) -> None:
    assert (
        in_a_child(lambda: run(make('kill -9 $PPID; sleep 0.3; touch "$0/../late"'), log("a"), quiet=True))
        == -9
    )
    time.sleep(0.5)
    assert not (place.parent / "late").exists()
    run(make(), log("b"), quiet=True)
    assert strays(tmp_path, temporary) == []


@pytest.mark.parametrize("what", sampled(["folder", "file", "link", "link-to-environment"], 2))
def test_only_an_environment_is_replaced(
    tmp_path: Path, place: Path, make: Make, temporary: Path, log: Callable[[str], Log], what: str
) -> None:
    place.parent.mkdir()
    other = tmp_path / "other"
    old_environment(other)
    if what == "folder":
        place.mkdir()
        (place / "thesis.tex").touch()
    elif what == "file":
        place.touch()
    else:
        place.symlink_to(other if "environment" in what else tmp_path)
    with pytest.raises(UsageError, match="only replaces environments"):
        run(make(), log("a"), quiet=True, replace=True)
    assert os.path.lexists(place)
    assert (other / "old").exists()
    assert strays(tmp_path, temporary) == []


def test_conda_environment_is_replaced(
    tmp_path: Path, place: Path, make: Make, temporary: Path, log: Callable[[str], Log]
) -> None:
    (place / "conda-meta").mkdir(parents=True)
    run(make(), log("a"), quiet=True, replace=True)
    assert not (place / "conda-meta").exists()
    assert strays(tmp_path, temporary) == []


def test_new_environment_that_is_not_accepted_gives_back_the_old_one(
    tmp_path: Path, place: Path, make: Make, temporary: Path, log: Callable[[str], Log]
) -> None:
    old_environment(place)

    def refuse() -> None:
        assert (place / "lib").exists()
        raise UnableError("it does not stand the check")

    with pytest.raises(UnableError, match="check"):
        run(make(), log("a"), quiet=True, replace=True, accept=refuse)
    assert (place / "old").read_text() == "still good"
    assert strays(tmp_path, temporary) == []


def test_a_forged_journal_is_not_believed(
    tmp_path: Path, place: Path, make: Make, temporary: Path, log: Callable[[str], Log]
) -> None:
    """The journal is replaced by a link, or contains names in a form that the tool does not use."""
    place.parent.mkdir()
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "a").touch()
    journal_path(place).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnableError, match="cannot be opened"):
        run(make(), log("a"), quiet=True)
    journal_path(place).unlink()
    for line in (
        json.dumps({"state": "done", "before": "../treasure", "made": 9, "temporary": str(treasure)}),
        "[1]",
        "\0" * 99,
        '{"pid": "x"}',
        "",
    ):
        journal_path(place).write_text(line + "\n")
        run(make(), log("a"), quiet=True)
        assert (treasure / "a").exists()
        subprocess.run(["rm", "-r", str(place)], check=True)


def test_log_follows_no_link_and_keeps_what_is_there(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    work = tmp_path / "work"
    work.mkdir()
    (work / "tf.install.log").symlink_to(victim)
    for env in (work / "tf", tmp_path / "missing" / "tf"):
        (temporary / "tf.install.log").unlink(missing_ok=True)
        (temporary / "tf.install.log").symlink_to(victim)
        log = Log.beside(env)
        log.say("hello")
        log.close()
        assert "hello" in log.path.read_text()
        assert log.path.resolve() != victim
    (work / "tf.install.log").unlink()
    os.link(victim, work / "tf.install.log")
    Log.beside(work / "tf").close()
    assert victim.read_text() == "mine"
    (work / "tf.install.log").unlink()
    for word in ("one", "two"):
        log = Log.beside(work / "tf")
        log.say(word)
        log.close()
    assert [line.split()[1] for line in (work / "tf.install.log").read_text().splitlines()] == ["one", "two"]
    work.chmod(0o1777)  # as for /tmp: other users may put files there
    log = Log.beside(work / "tf")
    log.close()
    assert log.path.name != "tf.install.log"
