"""Reads reports that consist of sections: those of TensorFlow's tf_env_collect.sh, PyTorch's collect_env.py
and NVIDIA's nvidia-bug-report.sh."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor import lazy
from doctor.facts import (
    FORM,
    MEASURED,
    CudnnVersion,
    DriverVersion,
    EnvironmentKind,
    EnvVar,
    Fact,
    Glibc,
    Gpu,
    Kernel,
    OperatingSystem,
    Platform,
    PythonVersion,
)
from doctor.logs.collectors.block import (
    Block,
    Collector,
    Line,
    after,
    cuda,
    fence,
    kept,
    source,
    stated_version,
    until,
)
from doctor.logs.collectors.packages import matters, old_row
from doctor.logs.signatures.signature import words
from doctor.logs.signatures.versions.plausible import cudnn_text

# --- tf_env_collect.sh -------------------------------------------------------------------------------

_HEADER = lazy.compile(r"== {1,2}(\S[^=\n]{0,60}?) {0,2}={8,90}\s{0,9}$")
_SYSTEMS = {"linux": "linux", "windows": "windows", "darwin": "macos"}
_TUPLE = lazy.compile(r"\((\d), (\d{1,2}), (\d{1,2}), '")
_OWN_FAILURE = lazy.compile(
    r"\s{0,4}(?:Traceback \(most recent call last\)|File \"(?:/tmp/check_tf\.py|<string>|<stdin>)\"|with"
    r" tf\.Session\(\)|\^{3}|~{3})"
    r"|AttributeError: module 'tensorflow' has no attribute 'Session'|tf\.(?:version\.)?COMPILER_VERSION = "
)
"""Matches lines that are not evidence: at its end, the script uses tf.Session, which fails in TensorFlow 2,
and the compiler does not matter."""


def tf_env(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read a report from TensorFlow's tools/tf_env_collect.sh: sections under `== title ====`."""
    facts: list[Fact] = []
    keep: set[int] = set()
    while at < len(lines):
        header = _HEADER.match(lines[at][1].strip()[:200])
        if header is None:
            break
        start = at + 1
        at = until(lines, start, lambda line: fence(line) or _HEADER.match(line.strip()[:200]) is not None)
        facts += _section(header[1].lower(), lines[start:at], name)
        keep.update(start + i for i in _readable(header[1].lower(), lines[start:at]))
        while at < len(lines) and (not lines[at][1].strip() or lines[at][1].startswith("```")):
            at += 1  # the report continues in another block
    return Block(at, facts, frozenset(keep))


def _section(title: str, lines: Sequence[Line], name: str) -> Iterator[Fact]:
    for line in lines:
        where, text = source(name, line), line[1].strip()
        if title == "are we in docker" and text == "Yes":
            yield EnvironmentKind(where, "docker")
        elif title == "check for virtualenv" and (
            text == "True" or text.startswith("Running inside a virtual")
        ):
            yield EnvironmentKind(where, "venv")
        elif title.startswith(("check python", "python version")):
            found = _TUPLE.match(text[:40])
            version = after(text, "python version") or (".".join(found.groups()) if found else "")
            if version[:1] in ("2", "3"):
                yield PythonVersion(where, version[:20])
        elif title == "check pips":
            yield from old_row(line, name)
        elif title == "check os platform":
            yield from _system(text, line, name)
        elif title in ("uname -a", "cat /etc/issue"):
            parts = text.split()
            if parts[:1] == ["Linux"] and len(parts) > 2:
                yield Platform(where, "linux", _processor(text))
                yield Kernel(where, parts[2][:80])
            elif text.startswith("PRETTY_NAME="):
                yield OperatingSystem(where, text.partition("=")[2].strip('"')[:80])
        elif title == "env":
            variable, _, value = text.partition(" ")
            if variable in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") and value and value != "is unset":
                yield EnvVar(where, variable, value[:2000])


def _processor(text: str) -> str | None:
    return next((word for word in ("x86_64", "aarch64", "arm64", "ppc64le") if word in text), None)


def _system(text: str, line: Line, name: str) -> Iterator[Fact]:
    where = source(name, line)
    kind = _SYSTEMS.get(after(text, "os").lower())
    release = after(text, "os release version")
    library = re.search(r"-with-glibc(2\.\d{1,2})$", text[:200])
    if library:
        yield Glibc(where, library[1])
    if kind:
        yield Platform(where, kind)
    if "microsoft" in release.lower():
        yield Platform(where, "wsl")
    if release:
        yield Kernel(where, release[:80])
    if text.startswith("machine:") and _processor(text):
        yield Platform(where, "linux", _processor(text), rank=FORM)
    found = re.match(r"linux distribution: \('(\w[\w ]{0,30})', '([\w./]{0,20})'", text)
    if found:
        yield OperatingSystem(where, f"{found[1]} {found[2]}".strip())


def _readable(title: str, lines: Sequence[Line]) -> Iterator[int]:
    """Yield the indexes of the lines that the signatures read: logs and the output of other programs."""
    if title == "check pips":
        yield from kept(lines, 0, len(lines), matters)
    elif title in ("tensorflow import", "nvidia-smi", "cuda libs", "tensorflow installed from info"):
        yield from kept(lines, 0, len(lines), lambda line: not _OWN_FAILURE.match(line))


# --- PyTorch's collect_env.py ------------------------------------------------------------------------

_GPU = lazy.compile(r"GPU (\d{1,2}): (\S[^\n(]{2,60})")
_TORCH_ROWS = lazy.compile(r"\[(?:pip3?|conda|uv)\]")


def torch_env(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read a report from torch.utils.collect_env. PyTorch's CUDA is ignored: it is part of PyTorch, and
    TensorFlow does not use it."""
    end = until(lines, at, fence)
    facts: list[Fact] = []
    keep: set[int] = set()
    last = at
    for i in range(at, end):
        line = lines[i]
        text = line[1].strip()
        field, colon, value = text.partition(":")
        if _TORCH_ROWS.match(text[:10]):
            last = i
            if matters(text.partition("]")[2]):
                keep.add(i)
            continue
        if colon and field in _FIELDS:
            last = i
        facts += _torch_field(field, value.strip(), line, name)
        for gpu in _GPU.finditer(text[:2000]):
            facts.append(Gpu(source(name, line), gpu[2].strip(), index=int(gpu[1]), rank=FORM))
            last = i
        if text.startswith("/"):
            facts += stated_version(text, source(name, line))
            last = i
    return Block(last + 1, facts, frozenset(keep)) if last > at else None


_FIELDS = words(
    "PyTorch version|Is debug build|CUDA used to build PyTorch|ROCM used to build PyTorch|OS|GCC version|"
    "Clang version|CMake version|Libc version|Python version|Python platform|Is CUDA available|"
    "CUDA runtime version|CUDA_MODULE_LOADING set to|GPU models and configuration|Nvidia driver version|"
    "cuDNN version|HIP runtime version|MIOpen runtime version|Is XNNPACK available|CPU|"
    "Versions of relevant libraries|Model name|Architecture"
)


def _torch_field(field: str, value: str, line: Line, name: str) -> Iterator[Fact]:
    where = source(name, line)
    if not value or value.startswith(("N/A", "Could not collect", "No CUDA")):
        return
    if field == "OS":
        yield OperatingSystem(where, value.partition(" (")[0][:80])
        for word, kind in (("windows", "windows"), ("macos", "macos"), ("mac os", "macos")):
            if word in value.lower():
                yield Platform(where, kind)
    elif field == "Libc version" and value.startswith("glibc-"):
        yield Glibc(where, value[6:20])
    elif field == "Python version":
        yield PythonVersion(where, value.partition(" ")[0][:20])
    elif field == "Python platform" and value.startswith("Linux-"):
        yield Platform(where, "wsl" if "microsoft" in value.lower() else "linux", _processor(value))
    elif field == "CUDA runtime version":
        yield from cuda(value, where)
    elif field == "Nvidia driver version" and re.match(r"\d{3}\.\d{1,4}", value):
        yield DriverVersion(where, value.split()[0][:20], rank=MEASURED)
    elif field == "cuDNN version":
        yield from stated_version(value, where)
        if value.isdigit() and len(value) in (4, 5):
            yield CudnnVersion(where, cudnn_text(value), rank=FORM)


# --- nvidia-bug-report.sh ----------------------------------------------------------------------------

_READ = words(
    "/proc/driver/nvidia|lspci|dmesg|journalctl|nvidia-smi|/etc/issue|/etc/os-release|/etc/redhat-release|"
    "/proc/version|/var/log/messages|/var/log/syslog|/var/log/kern|/etc/debian_version|uname"
)
_RULE = "____________________________________________"


def bug_report(lines: Sequence[Line], at: int, name: str) -> Block | None:
    """Read a log from nvidia-bug-report.sh: its parts about the driver and the kernel, and those from lspci
    and nvidia-smi. The X server's logs and all other parts are ignored."""
    keep: set[int] = set()
    reading = True
    title = False
    for i in range(at, len(lines)):
        text = lines[i][1]
        if text.startswith(_RULE):
            title = True
        elif title and text.strip():
            reading = any(word in text for word in _READ)
            title = False
        if reading and not text.startswith("*** ls:"):
            keep.add(i)
    return Block(len(lines), [], frozenset(keep))


COLLECTORS = (
    Collector("== check p", _HEADER, tf_env),
    Collector("== are we in docker", _HEADER, tf_env),
    Collector("== tensorflow import", _HEADER, tf_env),
    Collector(
        "CUDA used to build PyTorch",
        lazy.compile(r"\s{0,8}(?:Collecting environment information|PyTorch version:)"),
        torch_env,
    ),
    Collector("Start of NVIDIA bug report log", lazy.compile(r"Start of NVIDIA bug report log"), bug_report),
)
