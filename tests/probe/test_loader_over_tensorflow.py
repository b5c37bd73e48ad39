"""Compares the simulated loader with the real one, for TensorFlow's own libraries and NVIDIA's own wheels."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.facts import LibraryLoaded, LibraryNotLoaded, LibraryWanted
from doctor.probe import elf, examine
from doctor.probe.machine import Machine
from doctor.tables import Tables
from tests.probe.shared_objects import compile_library, needs_compiler
from tests.tensorflow_envs import package_env, tensorflow_env

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tensorflow,
    needs_compiler,
    pytest.mark.skipif(sys.platform != "linux", reason="glibc's loader is Linux's"),
]

# Imports TensorFlow and calls every exported Get...DsoHandle() of TensorFlow's loader. These functions return
# a StatusOr<void*> through a hidden pointer, which is the first argument (System V ABI for x86-64).
# TensorFlow itself calls them before it registers a GPU.
CALLS = """
import ctypes, json, sys
framework, names = sys.argv[1], json.loads(sys.argv[2])
import tensorflow
framework = ctypes.CDLL(framework)
for name in names:
    ctypes.CDLL.__getitem__(framework, name)(ctypes.create_string_buffer(64))
files = {line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if "/" in line}
print("MAPPED" + json.dumps(sorted(files)))
"""


def handles(framework: Path) -> list[str]:
    """The mangled names of the functions that load CUDA libraries."""
    from elftools.elf.elffile import ELFFile

    with framework.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym")
        names = {symbol.name for symbol in symbols.iter_symbols() if symbol["st_shndx"] != "SHN_UNDEF"}
    pattern = re.compile(r"DsoLoader\d+Get(?!Rocm|Hip|Roc|Mio|Rccl|Hip)\w+DsoHandleEv$")
    return sorted(name for name in names if pattern.search(name) and "CachedDsoLoader" not in name)


def environment(release: str, *, wheels: bool) -> Path:
    """The folder of an environment with TensorFlow, with or without the wheels of its extra and-cuda."""
    if not wheels:
        return tensorflow_env(release).parent.parent
    highest = 13 if release >= "2.20" else 12 if release >= "2.16" else 11
    return package_env(f"{release}-and-cuda", [f"tensorflow[and-cuda]=={release}"], 10, highest).parent.parent


@pytest.mark.parametrize("case", ["wheels", "without wheels", "wheels on LD_LIBRARY_PATH"])
@pytest.mark.parametrize("release", ["2.15.1", "2.16.1", "2.18.1", "2.21.0"])
def test_the_libraries_that_tensorflow_maps_are_those_predicted(release: str, case: str) -> None:
    place = environment(release, wheels=case != "without wheels")
    (site,) = place.glob("lib/python3*/site-packages")
    env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    if case == "wheels on LD_LIBRARY_PATH":
        env["LD_LIBRARY_PATH"] = ":".join(str(path) for path in sorted((site / "nvidia").glob("*/lib")))
    compare(place, env)


OLDER = {  # release: lowest and highest Python 3, what to install, stand-ins for the libraries that it loads
    "2.10.1": (7, 10, ["tensorflow==2.10.1", "numpy<2"]),
    "1.15.0-gpu": (5, 7, ["tensorflow-gpu==1.15.0", "protobuf<3.21", "numpy<1.19"]),
}


@pytest.mark.parametrize("case", ["none", "all", "some"])
@pytest.mark.parametrize("release", OLDER)
def test_older_releases_open_what_was_predicted(release: str, case: str, tmp_path: Path) -> None:
    lowest, highest, packages = OLDER[release]
    try:
        place = package_env(release, packages, lowest, highest).parent.parent
    except (RuntimeError, subprocess.CalledProcessError) as problem:
        pytest.skip(str(problem))
    env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LD_LIBRARY_PATH": str(tmp_path)}
    row = Tables.bundled().tensorflow(release.partition("-")[0], None, "linux-x86_64")
    assert row is not None
    for at, name in enumerate(row.libraries):
        # TensorRT is called at the import and must be real; the driver is not searched for
        if not name.startswith(("libnvinfer", "libcuda.", "libnvidia-ml")) and (
            case == "all" or (case == "some" and at % 2)
        ):
            compile_library(tmp_path / name, soname=name)
    compare(place, env)


def compare(place: Path, env: dict[str, str]) -> None:
    """Compare the libraries that the real loader maps for TensorFlow with those predicted from the files."""
    (framework,) = place.glob("lib/python3*/site-packages/tensorflow*/libtensorflow_framework.so.[12]")
    names = handles(framework)
    assert len(names) >= 7
    done = subprocess.run(
        [place / "bin" / "python", "-c", CALLS, str(framework), json.dumps(names)],
        env={**env, "LD_DEBUG": "libs"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "MAPPED" in done.stdout, done.stderr[-2000:]
    mapped = set(json.loads(done.stdout.partition("MAPPED")[2]))
    asked = set(re.findall(r"find library=(lib(?:cu|nccl|nv)\S*)", done.stderr))

    machine = Machine.here()
    machine.env = env
    facts = examine(machine, str(place))
    wanted = {fact.name for fact in facts.of(LibraryWanted)}
    opened = {fact.name: fact.path for fact in facts.of(LibraryLoaded) if fact.name in wanted}
    refused = {fact.name for fact in facts.of(LibraryNotLoaded) if fact.name in wanted}

    libraries = [path for path in mapped if ".so" in path and Path(path).name.startswith("lib")]
    sonames = {elf.of(machine, path).soname for path in libraries}
    assert opened.keys() | refused == wanted
    for name, path in opened.items():
        assert path is not None
        assert os.path.realpath(path) in mapped, f"{name} was predicted to come from {path}"
    for name in refused:
        assert name not in sonames, f"{name} was predicted to fail"
        assert name in asked, f"TensorFlow did not request {name}"
