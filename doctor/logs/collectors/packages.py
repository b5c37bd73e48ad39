"""Reads lists of installed packages: pip list, pip debug, conda info, conda list, dpkg -l, rpm -qa, module
list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from doctor import lazy
from doctor.facts import (
    FORM,
    CudnnVersion,
    DriverCuda,
    DriverVersion,
    EnvironmentKind,
    Fact,
    Glibc,
    OperatingSystem,
    Package,
    Platform,
    PythonVersion,
    Source,
    TensorFlowVersion,
    normalised,
)
from doctor.logs.collectors.block import (
    Block,
    Collector,
    Line,
    after,
    cuda,
    fence,
    kept,
    rows_end,
    source,
    until,
)
from doctor.logs.signatures.versions.plausible import plausible_driver

_MATTERS = lazy.compile(
    r"\s{0,8}(?:tensorflow|tf[-_]|keras|nvidia|cuda|cudnn|numpy|protobuf|h5py|horovod|nccl|libnvinfer"
    r"|libcudnn|_tflow|ml[-_]dtypes|typing[-_]extensions)",
    re.IGNORECASE,
)


def matters(row: str) -> bool:
    """Whether a row of a list is about a package that matters to TensorFlow on a GPU."""
    return _MATTERS.match(row[:80]) is not None


SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}
"""The values of Python's sys.platform, and the kinds of Platform that they mean."""
_TENSORFLOW = lazy.compile(r"(?:tensorflow|tf[-_]nightly)(?:[-_](?:gpu|cpu|intel|macos))?$")


def tensorflow_of(name: str, version: str, where: Source) -> Iterator[Fact]:
    """Yield the facts for a distribution with this name, if it is one of TensorFlow's."""
    if _TENSORFLOW.match(name.lower()[:60]) and re.match(r"\d\.\d{1,2}", version):
        yield TensorFlowVersion(where, version[:40], name.lower().replace("_", "-"))


_OLD_ROW = lazy.compile(r"\s{0,4}([A-Za-z0-9][\w.-]{1,60}) \((\d[\w.+]{0,30})(?:, [^)\n]{1,200})?\)\s{0,9}$")


def old_row(line: Line, name: str) -> Iterator[Fact]:
    """Read a row that pip list printed up to pip 9: `numpy (1.13.1)`."""
    row = _OLD_ROW.match(line[1][:300])
    if row and matters(row[1]):
        where = source(name, line)
        yield Package(where, normalised(row[1]), row[2])
        yield from tensorflow_of(row[1], row[2], where)


_ROW = lazy.compile(r"\s{0,4}[A-Za-z0-9_][\w.+-]{0,80} {1,80}[\dv]\S{0,60}(?: |\t|$)")
_CONDA_ROW = lazy.compile(
    r"#|\s{0,4}[a-z0-9_][\w.+-]{0,80}\s{1,40}\d\S{0,60}(?:\s{1,40}\S|\s{0,9}$)", re.IGNORECASE
)


def pip_list(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read the table of pip list."""
    if at + 1 >= len(lines) or not lines[at + 1][1].strip().startswith("---"):
        return None
    end = rows_end(lines, at + 2, _ROW)
    return Block(end, [], frozenset(kept(lines, at + 2, end, matters)))


def pip_debug(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read pip debug: the Python version and the system. Its list of wheel tags is skipped."""
    facts: list[Fact] = []
    last = at
    for i in range(at, until(lines, at, fence)):
        text = lines[i][1]
        where = source(name, lines[i])
        version = re.match(r"sys\.version: ([23]\.\d{1,2}\.\d{1,2})", text)
        if version:
            facts.append(PythonVersion(where, version[1]))
        if system := SYSTEMS.get(after(text, "sys.platform")):
            facts.append(Platform(where, system))
        if text.strip() and (":" in text or text.startswith(" ")):
            last = i
    return Block(last + 1, facts) if facts else None


def conda_info(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read conda info. The Python version in it is ignored: it is conda's own, not that of the
    environment."""
    facts: list[Fact] = [EnvironmentKind(source(name, lines[at]), "conda")]
    end = until(lines, at, lambda line: fence(line) or (" : " not in line and not line.startswith("   ")))
    for i in range(at, end):
        text = lines[i][1]
        where = source(name, lines[i])
        for feature, kind in (("__cuda=", DriverCuda), ("__glibc=", Glibc)):
            found = re.search(rf"{feature}(\d{{1,2}}\.\d{{1,2}})", text[:2000])
            if found:
                facts.append(kind(where, found[1]))
        system = re.match(r"\s{0,30}platform : (linux|win|osx)-(\w{1,10})", text)
        if system:
            facts.append(Platform(where, {"linux": "linux", "win": "windows", "osx": "macos"}[system[1]]))
        agent = re.search(r"Linux/(\S{1,60}) (\w{2,20})/(\d[\w.]{0,10})", text[:2000])
        if agent:
            facts.append(OperatingSystem(where, f"{agent[2]} {agent[3]}"))
    return Block(end, facts)


def conda_list(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read conda list: rows of name, version, build and channel."""
    end = rows_end(lines, at, _CONDA_ROW)
    facts: list[Fact] = [EnvironmentKind(source(name, lines[at]), "conda")]
    for line in lines[at:end]:
        python = re.match(r"python\s{1,40}([23]\.\d{1,2}(?:\.\d{1,2})?)", line[1])
        if python:
            facts.append(PythonVersion(source(name, line), python[1]))
        facts += _conda_cuda(line, name)
        facts += _of_pip(line, name)
    return Block(end, facts, frozenset(kept(lines, at, end, lambda row: matters(row) and "<pip>" not in row)))


def _of_pip(line: Line, name: str) -> Iterator[Fact]:
    """Read a row of a package that pip installed, as conda list up to 4.5 marks it (`<pip>`)."""
    cells = line[1].split()
    if cells[2:3] == ["<pip>"] and matters(cells[0]):
        where = source(name, line)
        yield Package(where, normalised(cells[0]), cells[1][:40])
        yield from tensorflow_of(cells[0], cells[1], where)


def _conda_cuda(line: Line, name: str) -> Iterator[Fact]:
    cells = line[1].split()
    if len(cells) >= 2 and cells[0] in ("cudatoolkit", "cuda-cudart", "cuda-toolkit"):
        yield from cuda(cells[1], source(name, line), FORM)
    elif len(cells) >= 2 and cells[0] == "cudnn" and re.match(r"[5-9]\.\d", cells[1]):
        yield CudnnVersion(source(name, line), cells[1][:20], rank=FORM)


# --- packages of a distribution ----------------------------------------------------------------------

_DPKG_ROW = lazy.compile(r"\s{0,4}(?:[uirph][ncufhWti][ R] |\|\||\|[ /]|Desired=|\+\+\+-)")
_DPKG = lazy.compile(r"\s{0,4}[ih]i  ?(\S{2,80}) {1,80}(\S{1,60})")
_RPM_ROW = lazy.compile(r"\s{0,4}[A-Za-z0-9][\w.+~^-]{3,120}\.(?:x86_64|noarch|aarch64|i686|ppc64le)\s{0,9}$")
_RPM = lazy.compile(r"\s{0,4}(\S{1,100}?)-(\d[\w.+~^]{0,40})-[\w.+~^]{1,60}\.\w{4,8}\s{0,9}$")
_DRIVER = lazy.compile(
    r"(?:nvidia-(?:driver|utils|headless|compute-utils|kernel-common|libs|x11-drv|graphics-drivers)"
    r"|libnvidia-compute|nvidia-legacy|xorg-x11-drv-nvidia|libcuda1)"
)
_VERSION = lazy.compile(r"(?:\d:)?(\d{1,3}(?:\.\d{1,4}){1,3})")


def _installed(package: str, version: str, where: Source) -> Iterator[Fact]:
    """Yield the driver, CUDA or cuDNN version that follows from an installed package of a Linux
    distribution."""
    number = _VERSION.match(version)
    if number is None:
        return
    if _DRIVER.match(package) and plausible_driver(number[1]):
        yield DriverVersion(where, number[1], "user")
    elif re.match(
        r"(?:cuda-cudart-\d{1,2}-\d{1,2}|libcudart\d{1,2}(?:\.\d)?|cuda-toolkit-\d{1,2}-\d{1,2}"
        r"|nvidia-cuda-toolkit)(?::|$)",
        package,
    ):
        yield from cuda(number[1], where, FORM)
    elif re.match(r"libcudnn\d{1,2}(?:-cuda-\d{1,2})?(?::|$)|cudnn\d?-cuda-\d", package):
        yield CudnnVersion(where, number[1], rank=FORM)


def _listed(
    row: re.Pattern[str], package: re.Pattern[str], lines: Sequence[Line], at: int, name: str
) -> Block | None:
    """Read a list of a distribution's packages. row: matches any row of the list. package: matches a row with
    the name and the version of an installed package."""
    end = rows_end(lines, at, row)
    facts: list[Fact] = []
    for line in lines[at:end]:
        found = package.match(line[1][:300])
        if found:
            facts += _installed(found[1], found[2], source(name, line))
    return Block(end, facts) if end - at > 1 or facts else None


dpkg = partial(_listed, _DPKG_ROW, _DPKG)
"""Read dpkg -l: rows of status, package, version, architecture and description."""
rpm = partial(_listed, _RPM_ROW, _RPM)
"""Read rpm -qa: one package per line."""


# --- environment modules -----------------------------------------------------------------------------

_MODULE = lazy.compile(r"\d{1,3}\) {1,4}(\S{1,80})")


def modules(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read the output of `module list` from Environment Modules or Lmod."""
    end = until(lines, at + 1, lambda line: _MODULE.search(line[:400]) is None)
    facts: list[Fact] = []
    for line in lines[at + 1 : end]:
        where = source(name, line)
        for found in _MODULE.finditer(line[1][:2000]):
            module, _, version = found[1].rpartition("/")
            number = _VERSION.match(version)
            known = module.lower().rpartition("/")[2]
            if number is None:
                continue
            if known in ("cuda", "cudatoolkit", "cuda-toolkit", "nvidia-cuda"):
                facts += cuda(version, where, FORM)
            elif known == "cudnn":
                facts.append(CudnnVersion(where, number[1], rank=FORM))
            elif known == "python":
                facts.append(PythonVersion(where, number[1], rank=FORM))
            elif known == "tensorflow":
                facts.append(TensorFlowVersion(where, number[1], rank=FORM))
    return Block(end, facts)


COLLECTORS = (
    Collector("Package ", lazy.compile(r"\s{0,4}Package {1,90}Version"), pip_list),
    Collector(
        "sys.platform: ",
        lazy.compile(r"pip version: pip |WARNING: This command is only meant for debugging"),
        pip_debug,
    ),
    Collector("active env location :", lazy.compile(r"\s{0,12}active environment : "), conda_info),
    Collector(
        "# packages in environment at", lazy.compile(r"\s{0,4}# packages in environment at"), conda_list
    ),
    Collector("ii  ", lazy.compile(r"Desired=Unknown|\s{0,4}ii  ?\S{2,80} {1,80}\d"), dpkg),
    Collector(
        "nvidia-",
        lazy.compile(
            r"\s{0,4}(?:nvidia|kmod-nvidia|xorg-x11-drv-nvidia|cuda)[\w.+~^-]{3,120}\.(?:x86_64|noarch"
            r"|aarch64)\s{0,9}$"
        ),
        rpm,
    ),
    Collector("Currently Loaded Module", lazy.compile(r"\s{0,8}Currently Loaded Module(?:file)?s:"), modules),
)
