"""Tests the only module that opens a machine's files: no file tree can lead the tool out of its root, delay
it, or count as examined if it was not."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doctor.facts import Facts, Unreadable
from doctor.probe import examine, inside
from doctor.probe.machine import RECORD, Machine
from scripts.machines.skeleton import skeleton
from tests.probe.machines import Folder, open_to_others
from tests.probe.test_verdicts import with_wheels

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX links, pipes and modes")
ROOT = Path(__file__).resolve().parents[2]
PROBE = ROOT / "doctor" / "probe"
REFUSED = r"No such file|Not a directory|Is a directory|Too many levels|not a regular file|larger than"


@pytest.fixture(params=["by the kernel", "by handles", "by names"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the tests with each way to resolve a path. The second is for systems without openat2, the third for
    systems without folder handles."""
    if request.param == "by the kernel" and not inside._kernel_resolves():
        pytest.skip("no openat2 here")
    if request.param != "by the kernel":
        monkeypatch.setattr(inside, "_kernel_resolves", lambda: False)
    if request.param == "by names":
        monkeypatch.setattr(inside, "_BY_HANDLE", False)
    return str(request.param)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A root folder, with a secret file outside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("outside")
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/file").write_text("inside")
    return root


def chain(root: Path, name: str, count: int, end: str) -> None:
    """Make a link `name` that leads to `end` through `count` links."""
    for number in range(count):
        last = number + 1 == count
        (root / f"{name}{number or ''}").symlink_to(end if last else f"{name}{number + 1}")


# --- no way out -----------------------------------------------------------------------------------


def outs(tree: Path) -> dict[str, str]:
    """Return a dictionary from a kind of path to a path of this kind that would lead out of the root if it
    were followed as on the host."""
    secret = tree.parent / "outside" / "secret"
    (tree / "absolute").symlink_to(secret)
    (tree / "relative").symlink_to("../outside/secret")
    (tree / "etc/deep").symlink_to("../../../../../../../../" + str(secret))
    (tree / "folder").symlink_to(secret.parent)
    (tree / "up").symlink_to("..")
    (tree / "two").symlink_to("up/../outside")
    (tree / "proc").symlink_to("/proc/self/root")
    chain(tree, "chain", 39, str(secret))
    chain(tree, "long", 45, str(secret))
    return {
        "an absolute link": "/absolute",
        "a relative link": "/relative",
        "more dots than folders": "/etc/deep",
        "a linked folder": "/folder/secret",
        "a link to the folder above": "/up/outside/secret",
        "two links": "/two/secret",
        "dots": "/../outside/secret",
        "dots behind a folder": "/etc/../../outside/secret",
        "the host's root in proc": f"/proc{secret}",
        "a chain of links": "/chain",
        "a chain that is too long": "/long",
    }


def test_no_path_leads_out(tree: Path, route: str) -> None:
    machine = Machine.at(tree)
    for what, path in outs(tree).items():
        with pytest.raises(OSError, match=REFUSED):
            machine.open(path)
        assert not machine.exists(path), what
        folder = path.rpartition("/")[0]
        assert "secret" not in machine.names_seen(folder), what
        assert machine.glob(f"{folder}/secre*") == [], what


def test_no_path_leads_out_of_a_tree_of_windows(tree: Path, route: str) -> None:
    (tree / "Windows/System32").mkdir(parents=True)
    (tree / "inner").symlink_to("/etc/file")
    machine = Machine.at(tree)
    assert machine.system == "windows"
    for what, path in outs(tree).items():
        windows = "C:" + path.replace("/", "\\")
        assert not machine.exists(windows), what
        with pytest.raises(OSError, match=REFUSED):
            machine.open(windows)
    assert machine.text("C:\\inner") == "inside"


def test_links_are_followed_inside_the_root(tree: Path, route: str) -> None:
    (tree / "usr/lib").mkdir(parents=True)
    (tree / "usr/lib/libx.so.1.2").write_text("library")
    (tree / "usr/lib/libx.so.1").symlink_to("libx.so.1.2")
    (tree / "lib").symlink_to("/usr/lib")
    (tree / "opt").symlink_to("usr/../lib")
    chain(tree, "forty", 40, "/etc/file")
    machine = Machine.at(tree)
    assert machine.text("/opt/libx.so.1") == "library"
    assert machine.names("/opt") == ["libx.so.1", "libx.so.1.2"]
    assert machine.resolve("/opt/libx.so.1") == "/usr/lib/libx.so.1.2"
    assert machine.resolve("/opt/nowhere/../libx.so.1") == "/usr/lib/libx.so.1.2"
    assert machine.resolve("/lib/absent/libx.so") == "/usr/lib/absent/libx.so"
    assert machine.text("/forty") == "inside"
    assert machine.readlink("/lib/libx.so.1") == "libx.so.1.2"
    assert machine.readlink("/lib/libx.so.1.2") is None
    assert machine.names("/") == sorted(path.name for path in tree.iterdir())


# --- what cannot be examined is not absent -------------------------------------------------------


def test_unreadable_places_are_noted_and_absent_ones_are_not(tree: Path, route: str) -> None:
    (tree / "loop").symlink_to("loop")
    chain(tree, "long", 41, "/etc/file")
    (tree / "nowhere").symlink_to("/not/there")
    machine = Machine.at(tree)
    with machine.noting() as notes:
        assert not machine.exists("/loop")
        assert not machine.exists("/long")
        assert machine.names_seen("/loop/folder") == []
        assert not machine.exists("/etc/nul\0name")
        assert not machine.exists("/nowhere")
        assert not machine.exists("/etc/file/below")
        assert not machine.exists("/etc/new\nline")
        assert machine.text("/etc/absent") is None
    assert list(notes) == ["/loop", "/long", "/loop/folder", "/etc/nul\0name"]
    for path in ("/loop", "/long", "/etc/nul\0name"):
        with pytest.raises(OSError, match=r"Too many levels|no file can have this name"):
            machine.text(path)


def test_names_with_line_breaks_and_undecodable_bytes_are_read(tree: Path, route: str) -> None:
    for name in (b"a\nb", b"caf\xe9", b"a b", b"-rf"):
        Path(os.fsdecode(os.fsencode(tree) + b"/etc/" + name)).write_text("x")
    machine = Machine.at(tree)
    for name in machine.names("/etc"):
        assert machine.text(f"/etc/{name}")


# --- only regular files  -----------------------------------------------------------------------------


def fifo(place: Path) -> None:
    os.mkfifo(place)


def sparse(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(10 << 30)


def folder(place: Path) -> None:
    place.mkdir()


def looped(place: Path) -> None:
    place.symlink_to(place.name)


def away(place: Path) -> None:
    place.symlink_to("/proc/self/environ")


@pytest.mark.parametrize("make", [fifo, sparse, folder])
def test_only_regular_files_below_the_size_limit_are_read(tree: Path, route: str, make: object) -> None:
    make(tree / "etc/thing")  # type: ignore[operator]
    machine = Machine.at(tree)
    start = time.monotonic()
    with machine.noting() as notes, pytest.raises(OSError, match=REFUSED):
        machine.read("/etc/thing")
    assert time.monotonic() - start < 5
    assert list(notes) == ["/etc/thing"]


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[Path]:
    """A folder where device nodes can be made."""
    node = tmp_path / "zero"
    try:
        os.mknod(node, 0o600 | 0o020000, os.makedev(1, 5))
    except OSError:
        pytest.skip("device nodes cannot be made here")
    yield node
    node.unlink()


def test_a_device_is_not_read(devices: Path, route: str) -> None:
    with pytest.raises(OSError, match="not a regular file"):
        Machine.at(devices.parent).read(f"/{devices.name}")


class Looked(Machine):
    """A machine that records which of its paths are opened or listed."""

    def _look(self, function, path, **more):  # type: ignore[no-untyped-def]
        if function is not inside.real_inside:
            self.paths.setdefault(path)  # type: ignore[attr-defined]
        return super()._look(function, path, **more)


def paths_of(machine: Machine) -> list[str]:
    """Return every path that a check of a machine examines."""
    watched = Looked(
        **{
            name: getattr(machine, name)
            for name in ("root", "env", "system", "processor", "cwd", "recorded", "name")
        }
    )
    watched.paths = {}  # type: ignore[attr-defined]
    examine(watched)
    return [path for path in watched.paths if not machine.root.startswith(path)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("step", [40, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", [fifo, sparse, folder, looped, away], ids=lambda make: make.__name__)
def test_no_file_can_block_a_probe(tmp_path: Path, make: Callable[[Path], object], step: int) -> None:
    """Each file that a check examines is replaced in turn. The check still ends soon, and no probe fails
    because of a defect."""
    whole = with_wheels(Folder(tmp_path / "whole").working_gpu(), "2.15.1").toolkit("12.2").machine()
    (tmp_path / "whole/bin").mkdir()
    (tmp_path / "whole/bin/sh").write_bytes(skeleton())
    files = [path for path in paths_of(whole) if (tmp_path / "whole" / path.lstrip("/")).is_file()]
    assert len(files) > 40
    start = time.monotonic()
    first = [fifo, sparse, folder, looped, away].index(make) % step  # each kind replaces other files
    for path in [*files[first::step], f"/{RECORD}", "/bin/sh"]:
        place = tmp_path / "whole" / path.lstrip("/")
        kept = place.with_name("kept-for-the-test")
        place.rename(kept)
        make(place)
        try:
            if path == f"/{RECORD}" and make is not away:  # a link out of the root leads nowhere: no record
                with pytest.raises(ValueError, match="cannot be read"):
                    Machine.at(tmp_path / "whole")
            else:
                assert not defects(examine(Machine.at(tmp_path / "whole"))), path
        finally:
            place.rmdir() if make is folder else place.unlink()
            kept.rename(place)
    assert time.monotonic() - start < 2 * len(files)


def defects(facts: Facts) -> list[str]:
    """Return the probes that ended because of a defect in the tool."""
    return [fact.reason for fact in facts.of(Unreadable) if "the probe failed" in fact.reason]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("setpriv"),
    reason="needs root and setpriv",
)
def test_folders_that_another_user_may_not_read_are_noted(tree: Path, tmp_path: Path) -> None:
    (tree / "etc/closed").mkdir(mode=0o700)
    (tree / "etc/closed/file").write_text("x")
    (tree / "etc/hidden").write_text("x")
    (tree / "etc/hidden").chmod(0o600)
    open_to_others(tmp_path)
    code = (
        "import sys; from doctor.probe.machine import Machine\n"
        "machine = Machine.at(sys.argv[1])\n"
        "with machine.noting() as notes:\n"
        "    print(machine.exists('/etc/closed/file'), machine.names_seen('/etc/closed'))\n"
        "    print(machine.exists('/etc/hidden'))\n"
        "    try: machine.text('/etc/hidden')\n"
        "    except PermissionError as problem: print(problem.filename)\n"
        "print(*sorted(notes), *set(notes.values()), sep=chr(10))\n"
    )
    command = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        sys.executable,
        "-B",
        "-c",
        code,
        str(tree),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if not done.stdout and (
        "Permission denied" in done.stderr or "error while loading shared libraries" in done.stderr
    ):
        pytest.skip("another user may not run this Python or read this checkout")
    assert done.stdout.splitlines() == [
        "False []",
        "True",
        "/etc/hidden",
        "/etc/closed",
        "/etc/closed/file",
        "/etc/hidden",
        "Permission denied",
    ], done.stderr


# --- and no other door ----------------------------------------------------------------------------

OTHERS = {
    "inside.py": "the door",
    "script.py": "reads this package's own scripts",
    "record.py": "reads and writes the file that the user named",
}
"""The modules of the probe that read files themselves, and why they may. `_ask_*.py` run in their own
processes."""
DOORS = {
    "open", "exists", "lexists", "is_file", "isfile", "is_dir", "isdir", "is_symlink", "islink",
    "listdir", "iterdir", "scandir", "walk", "readlink", "stat", "lstat", "glob", "rglob", "iglob",
    "realpath", "resolve", "access", "getsize", "getmtime", "read_text", "read_bytes", "samefile",
    "fdopen", "expanduser",
}  # fmt: skip
OURS = {"machine", "self", "files", "loader", "search", "self.machine", "loader.machine", "search.machine"}
"""The objects that a probe asks instead of the file system: a Machine, or objects that are made from one."""
START = {("machine.py", "Path(root).resolve"), ("machine.py", "folder.is_dir")}
"""Calls for the root itself, which is a folder of the host."""


@pytest.mark.skipif(sys.version_info < (3, 9), reason="ast.unparse came with 3.9")
def test_only_doctor_probe_inside_opens_files() -> None:
    found = []
    for module in sorted(PROBE.glob("*.py")):
        if module.name in OTHERS or module.name.startswith("_ask_"):
            continue
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            name = (
                called.id
                if isinstance(called, ast.Name)
                else called.attr
                if isinstance(called, ast.Attribute)
                else ""
            )
            owner = ast.unparse(called.value) if isinstance(called, ast.Attribute) else ""
            if name in DOORS and owner not in OURS and (module.name, ast.unparse(called)) not in START:
                found.append(f"{module.name}:{node.lineno}: {ast.unparse(called)}")
    assert not found
