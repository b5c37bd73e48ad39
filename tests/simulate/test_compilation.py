"""Tests that the simulated libraries are compiled quickly, at the first use, and only once."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import time

import pytest

from doctor.simulate import SimulationError, build, compilation
from doctor.simulate.libraries import sonames_for

STRICT = (*compilation._FLAGS, "-Wall", "-Wextra", "-Werror")
EVERYTHING = ["libcuda.so.1", "libnvidia-ml.so.1", "files.so", "memory_holder"]


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def full_cache(tmp_path_factory):
    cache = tmp_path_factory.mktemp("full") / "cache"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(cache))
        patched.setattr(compilation, "_FLAGS", STRICT)
        build(EVERYTHING)
    return cache


def children_seconds() -> float:
    """Return the processor time of all child processes, which does not depend on other work on the
    machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
@pytest.mark.parametrize(("cuda", "cudnn"), [("12.5", "9"), ("11.8", "8"), ("12.2", "8")])
def test_each_family_is_built_in_under_ten_seconds_and_without_a_warning(
    empty_cache, monkeypatch, cuda, cudnn
):
    monkeypatch.setattr(compilation, "_FLAGS", STRICT)
    before = children_seconds()
    folder = build([*EVERYTHING, *sonames_for(cuda, cudnn)])
    assert children_seconds() - before < 10
    assert empty_cache in folder.parents
    for soname in sonames_for(cuda, cudnn):
        ctypes.CDLL(str(folder / soname))
        said = subprocess.run(
            ["readelf", "-d", str(folder / soname)], capture_output=True, text=True, check=True
        )
        assert f"[{soname}]" in said.stdout


def test_on_a_terminal_it_says_that_it_compiles_and_elsewhere_it_does_not(empty_cache, monkeypatch, capsys):
    build(["files.so"])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    build(["memory_holder"])
    assert "compiling the simulated libraries (only once" in capsys.readouterr().err
    build(["memory_holder"])
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_the_second_time_nothing_is_compiled(full_cache, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(full_cache))
    first = build(EVERYTHING)
    monkeypatch.setattr(compilation, "_run", None)
    assert build(EVERYTHING) == first


def test_what_nobody_used_for_a_month_is_removed(empty_cache, monkeypatch):
    folder = build(["memory_holder"])
    month = compilation.UNUSED_DAYS * 86400
    for name, age in (("of-a-version-long-gone", month + 60), ("of-last-week", month / 4)):
        other = folder.with_name(name)
        other.mkdir()
        (other / "libcuda.so.1").touch()
        os.utime(other, (time.time() - age, time.time() - age))
    os.utime(folder, (1, 1))
    build(["files.so"])
    assert {path.name for path in folder.parent.iterdir()} == {folder.name, "of-last-week"}
    assert time.time() - folder.stat().st_mtime < 60, "it is in use"


def test_changed_sources_or_another_compiler_get_a_separate_folder(monkeypatch):
    key = compilation._key({"a.c": b"int a;"}, sys.executable)
    assert key != compilation._key({"a.c": b"int b;"}, sys.executable)
    assert key != compilation._key({"b.c": b"int a;"}, sys.executable)
    assert key != compilation._key({"a.c": b"int a;"}, "/bin/sh")


def test_without_a_compiler_the_package_to_install_is_named(empty_cache, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(SimulationError, match="no C compiler was found") as refused:
        build(EVERYTHING)
    for command in ("apt-get", "dnf", "zypper", "pacman", "apk", "brew", "conda"):
        assert f"{command} " in refused.value.hint


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("zypper", "sudo zypper install gcc glibc-devel"),
        ("pacman", "sudo pacman -S gcc"),
        ("brew", "brew install gcc; then set CC"),
    ],
)
def test_where_the_package_manager_is_known_its_command_alone_is_shown(
    monkeypatch, tmp_path, manager, command
):
    (tmp_path / manager).write_text("#!/bin/sh\n")
    (tmp_path / manager).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compilation.how_to_get_a_compiler().startswith(f"install one: {command}")


def test_missing_headers_of_the_c_library_are_reported(empty_cache, monkeypatch, tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text(
        "#!/bin/sh\necho 'machine.c:5:10: fatal error: stdio.h: No such file or directory' >&2\nexit 1\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(SimulationError, match="could not build") as refused:
        build(EVERYTHING)
    assert "the C library's headers are missing" in refused.value.hint


def test_another_c_library_is_refused(monkeypatch):
    monkeypatch.setattr("os.confstr", lambda name: None)
    with pytest.raises(SimulationError, match="only with glibc"):
        build(EVERYTHING)


def test_a_missing_compiler_in_cc_is_reported(empty_cache, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(SimulationError, match="no-such-compiler"):
        build(EVERYTHING)


def test_a_compiler_that_fails_is_quoted(empty_cache, monkeypatch):
    monkeypatch.setenv("CC", "false")
    with pytest.raises(SimulationError, match="false could not build"):
        build(EVERYTHING)


def test_another_system_is_refused(monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Windows")
    with pytest.raises(SimulationError, match="only on Linux"):
        build(EVERYTHING)


def test_a_library_that_nobody_simulates_is_refused():
    with pytest.raises(ValueError, match="libnvinfer"):
        build(["libnvinfer.so.8"])


def test_without_a_simulation_the_libraries_say_so_and_do_not_work(monkeypatch):
    folder = build(EVERYTHING)
    code = (
        "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).cuInit(0),"
        " ctypes.CDLL(sys.argv[2]).nvmlInit_v2())"
    )
    libraries = [str(folder / "libcuda.so.1"), str(folder / "libnvidia-ml.so.1")]
    done = subprocess.run(
        [sys.executable, "-c", code, *libraries], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["100", "9"]
    assert "simulated" in done.stderr
