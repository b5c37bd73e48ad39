"""The Python environment in use: which interpreter, and where it looks for packages.

Found in the order VIRTUAL_ENV, CONDA_PREFIX, python3 and python on PATH, our own. Asked through a script that it runs
(_ask_python.py); read from its files where nothing may be run (another root) or it does not answer.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from doctor.facts import Absent, EnvironmentKind, Fact, PythonVersion, Source, Unreadable
from doctor.probe.machine import Machine
from doctor.probe.script import between, script

LIMIT = 15.0
"""Seconds for the interpreter to answer: a cold start over a network file system takes several."""
PATH_LIMIT = 200
"""Folders of sys.path that are looked into."""
IN_ENVIRONMENT = ("bin/python", "bin/python3", "python.exe", "Scripts/python.exe")
ROOT_ENVIRONMENTS = (
    "/opt/venv",
    "/venv",
    "/.venv",
    "/app/.venv",
    "/opt/conda",
    "/opt/conda/envs/*",
    "/opt/miniconda3",
    "/opt/mambaforge",
    "/root/.venv",
    "/root/miniconda3",
    "/root/miniconda3/envs/*",
    "/home/*/.venv",
    "/home/*/venv",
    "/home/*/miniconda3",
    "/home/*/miniconda3/envs/*",
    "/home/*/anaconda3",
    "/home/*/anaconda3/envs/*",
    "/usr/local",
    "/usr",
)
"""Where an environment may lie in a root that says nothing of which one is in use."""


class NoPythonError(ValueError):
    """The interpreter or environment that was asked for is not there."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python environment. Paths are the machine's own.

    path: the folders that it searches for packages, in order; before: PYTHONPATH and the current folder, which come
    first; prefix: the environment's folder; program: the real program file, whose RPATH counts.
    """

    executable: str | None
    found_by: str
    version: str | None = None
    bits: int | None = None
    prefix: str | None = None
    program: str | None = None
    path: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    conda: bool = False
    facts: tuple[Fact, ...] = field(default=())


def find(machine: Machine, wanted: str | None = None) -> tuple[str | None, str, str | None]:
    """(interpreter, how it was found, environment's folder). Raises NoPythonError where `wanted` is not there."""
    if wanted is not None:
        if machine.is_dir(wanted):
            inside = _inside(machine, wanted)
            if inside is None and not _libraries(machine, wanted):
                raise NoPythonError(f"{wanted} holds no Python: neither bin/python nor python.exe is in it")
            return inside, "--python", wanted
        if not machine.exists(wanted):
            if "/" not in wanted and machine.which(wanted):
                return machine.which(wanted), "--python", None
            raise NoPythonError(f"there is no {wanted}")
        return wanted, "--python", _prefix_of(wanted)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = machine.env.get(variable)
        if folder:
            inside = _inside(machine, folder)
            if inside is not None or _libraries(machine, folder):
                return inside, f"${variable}", folder
    for name in ("python3", "python"):
        on_path = machine.which(name)
        if on_path is not None and "WindowsApps" not in on_path:
            return on_path, "PATH", _prefix_of(on_path)
    if machine.live:
        return sys.executable, "the Python that runs tfgpu-doctor", sys.prefix
    for pattern in ROOT_ENVIRONMENTS:
        for folder in machine.glob(pattern):
            if any(machine.is_dir(f"{library}/tensorflow") for library in _libraries(machine, folder)):
                return _inside(machine, folder), "it holds TensorFlow", folder
    for pattern in ROOT_ENVIRONMENTS:
        for folder in machine.glob(pattern):
            if _libraries(machine, folder):
                return _inside(machine, folder), "the first one in this root", folder
    return None, "", None


def examine(machine: Machine, wanted: str | None = None) -> Environment:
    """The environment in use with the facts about it. Raises NoPythonError as `find` does."""
    executable, found_by, folder = find(machine, wanted)
    if executable is None and folder is None:
        source = Source("VIRTUAL_ENV, CONDA_PREFIX, PATH", None, "no python there")
        return Environment(None, "", facts=(Absent(source, "python"),))
    problem: Unreadable | None = None
    if "python" in machine.recorded or (executable is not None and machine.live):
        asked = _ask(machine, executable or "python", found_by)
        if isinstance(asked, Environment):
            return asked
        problem = asked
    read = _read(machine, executable, found_by, folder)
    if problem is not None:
        from dataclasses import replace

        read = replace(read, facts=(problem, *read.facts))
    return read


def _ask(machine: Machine, executable: str, found_by: str) -> Environment | Unreadable:
    """The interpreter's own answer, or why there is none."""
    code = script("_ask_python.py")
    for flags in (("-I", "-B"), ("-E", "-s", "-B")):  # Python 2 knows no -I
        cookie = os.urandom(16).hex()
        ran = machine.run("python", [executable, *flags, "-c", code, cookie], LIMIT)
        if ran is None:
            break
        answers = between(ran.out, cookie if "python" not in machine.recorded else None)
        if answers and isinstance(answers[0], dict):
            return _answered(machine, executable, found_by, answers[0])
        if ran.status != 2:
            break
    source = Source(executable, None, "asked for its sys.path")
    if ran is None or ran.timed_out:
        return Unreadable(source, "python", f"{executable} did not answer in {LIMIT:.0f} s")
    last = (ran.err.strip().splitlines() or [ran.failure or "no output"])[-1]
    return Unreadable(source, "python", f"{executable} did not answer (status {ran.status}): {last}")


def _answered(machine: Machine, executable: str, found_by: str, answer: dict[str, object]) -> Environment:
    def words(key: str) -> tuple[str, ...]:
        value = answer.get(key)
        return tuple(str(v) for v in value if isinstance(v, str))[:PATH_LIMIT] if isinstance(value, list) else ()

    prefix = str(answer.get("prefix") or "")
    bits = answer.get("bits")
    version = str(answer.get("version") or "")
    return _environment(
        machine,
        executable=str(answer.get("executable") or executable),
        found_by=found_by,
        version=version,
        bits=bits if isinstance(bits, int) else None,
        prefix=prefix,
        program=str(answer.get("real_executable") or executable),
        path=words("path"),
        before=words("python_path"),
        venv=answer.get("prefix") != answer.get("base_prefix"),
        said="its own sys.version_info",
    )


def _read(machine: Machine, executable: str | None, found_by: str, folder: str | None) -> Environment:
    """The environment as its files show it."""
    prefix = folder or (_prefix_of(executable) if executable else None) or "/usr"
    settings = machine.text(f"{prefix}/pyvenv.cfg") or ""
    values = {k.strip().lower(): v.strip() for k, _, v in (line.partition("=") for line in settings.splitlines())}
    libraries = _libraries(machine, prefix)
    version = values.get("version_info") or values.get("version") or _version_of(machine, prefix, libraries)
    number = re.match(r"\d+\.\d+(\.\d+)?", version or "")
    version = number[0] if number else None
    path = [*libraries]
    if values.get("include-system-site-packages", "").lower() == "true" and values.get("home"):
        path += _libraries(machine, posixpath.dirname(values["home"].rstrip("/")))
    if not settings:
        home = machine.env.get("HOME", "/root")
        short = ".".join((version or "").split(".")[:2])
        user = f"{home}/.local/lib/python{short}/site-packages"
        if machine.is_dir(user):
            path.insert(0, user)
        if prefix == "/usr":
            path = [*_libraries(machine, "/usr/local"), *path]
    for entry in list(path):
        path += _from_pth(machine, entry)
    program = executable or _inside(machine, prefix)
    return _environment(
        machine,
        executable=executable,
        found_by=found_by,
        version=version or None,
        bits=None,
        prefix=prefix,
        program=machine.resolve(program) if program else None,
        path=tuple(dict.fromkeys(path))[:PATH_LIMIT],
        before=tuple(p for p in machine.env.get("PYTHONPATH", "").split(":") if p),
        venv=bool(settings),
        said=f"{prefix}/pyvenv.cfg"
        if values.get("version_info") or values.get("version")
        else f"{prefix}: its folders",
    )


def _environment(
    machine: Machine,
    *,
    executable: str | None,
    found_by: str,
    version: str | None,
    bits: int | None,
    prefix: str | None,
    program: str | None,
    path: tuple[str, ...],
    before: tuple[str, ...],
    venv: bool,
    said: str,
) -> Environment:
    """An Environment with its facts."""
    facts: list[Fact] = []
    conda = bool(prefix) and machine.is_dir(f"{prefix}/conda-meta")
    where = executable or prefix or "python"
    if version:
        facts.append(
            PythonVersion(
                Source(where, None, f"{version}, from {said}; found by {found_by}"), version, bits, executable
            )
        )
    else:
        facts.append(Unreadable(Source(where), "python", "its version is not stated in its files"))
    if conda:
        facts.append(EnvironmentKind(Source(f"{prefix}/conda-meta"), "conda"))
    elif venv:
        facts.append(EnvironmentKind(Source(f"{prefix}/pyvenv.cfg"), "venv"))
    return Environment(executable, found_by, version, bits, prefix, program, path, before, conda, tuple(facts))


def _inside(machine: Machine, folder: str) -> str | None:
    """The interpreter in an environment's folder."""
    for name in IN_ENVIRONMENT:
        path = f"{folder.rstrip('/')}/{name}"
        if machine.exists(path):
            return path
    return None


def _prefix_of(executable: str) -> str | None:
    """The environment's folder of an interpreter: two up from bin/python, one up from python.exe."""
    folder = posixpath.dirname(executable.replace("\\", "/"))
    if posixpath.basename(folder).lower() in ("bin", "scripts"):
        return posixpath.dirname(folder) or "/"
    return folder or None


def _libraries(machine: Machine, prefix: str) -> list[str]:
    """The package folders below a prefix."""
    patterns = [
        f"{prefix}/lib/python3*/site-packages",
        f"{prefix}/lib64/python3*/site-packages",
        f"{prefix}/lib/python3*/dist-packages",
        f"{prefix}/lib/python2.7/site-packages",
        f"{prefix}/Lib/site-packages",
    ]
    found: dict[str, str] = {}
    for pattern in patterns:
        for path in machine.glob(pattern):
            if machine.is_dir(path):
                found.setdefault(machine.resolve(path), path)
    return _newest_first(list(found.values()))


def _newest_first(paths: list[str]) -> list[str]:
    """Folders of the newest Python of a prefix only; those without a minor version (Debian's python3) go with it."""
    numbers = {
        path: tuple(map(int, re.findall(r"python(\d+)\.(\d+)", path)[-1]))
        for path in paths
        if re.search(r"python\d\.", path)
    }
    newest = max(numbers.values(), default=None)
    return [path for path in paths if path not in numbers or numbers[path] == newest]


def _version_of(machine: Machine, prefix: str, libraries: list[str]) -> str | None:
    """A prefix's Python version: conda-meta states it whole, a folder's name gives major and minor."""
    for path in machine.glob(f"{prefix}/conda-meta/python-[23].*.json"):
        match = re.match(r"python-(\d+\.\d+\.\d+)-", posixpath.basename(path))
        if match:
            return match[1]
    for path in libraries:
        match = re.search(r"python(\d+\.\d+)", path)
        if match:
            return match[1]
    text = machine.text(f"{prefix}/include/patchlevel.h")
    match = re.search(r'PY_VERSION\s+"([\d.]+)', text or "")
    return match[1] if match else None


def _from_pth(machine: Machine, folder: str) -> Iterator[str]:
    """The folders that .pth files in a package folder add (site's documentation)."""
    try:
        names = [name for name in machine.names(folder) if name.endswith(".pth")]
    except OSError:
        return
    for name in names[:PATH_LIMIT]:
        for line in (machine.text(f"{folder}/{name}", 1 << 16) or "").splitlines()[:PATH_LIMIT]:
            line = line.strip()
            if line and not line.startswith(("#", "import ", "import\t")):
                path = posixpath.normpath(posixpath.join(folder, line))
                if machine.is_dir(path):
                    yield path
