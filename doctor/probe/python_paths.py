"""Finds the folders in which a Python interpreter looks for packages. It reads the interpreter's files, as
Python itself does when it starts.

Input: a machine, the environment's folder and the interpreter. Output: Python's version and the package
folders in its sys.path. It follows CPython's getpath and site (pyvenv.cfg with include-system-site-packages,
ENABLE_USER_SITE, .pth files, platlibdir), Debian's and Fedora's changes (dist-packages; /usr/local beside
/usr), and setuptools' editable installations.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from doctor import lazy
from doctor.probe.machine import Machine
from doctor.values import dataclass

WRAPPER_SIZE = 128 << 10
"""The size in bytes of the largest wrapper; nixpkgs' wrappers have about 16 kB."""
_STARTED = lazy.compile(
    r"^exec\s(?:[^\n]{0,80}?\s)?[\"']?(/[^\s\"']{1,400}/bin/python[\d.]{0,6})[\"']?\s"
    r"|makeCWrapper '(/[^'\n]{1,400}/bin/python[\d.]{0,6})'",
    re.MULTILINE,
)
_SCRIPTED = lazy.compile(r"^(?:export )?([A-Z_]{4,40})=[\"']?(/[^\"'$\n]{1,8000})", re.MULTILINE)
_COMPILED = lazy.compile(r"--(?:set|set-default|prefix|suffix) '([A-Z_]{4,40})'(?: ':')? '(/[^'\n]{1,8000})'")
LIMIT = 200
"""The maximum number of folders in a path, and of .pth files in a folder, to examine."""
SHIMS = "/.pyenv/shims/"
STORE = lazy.compile(r"PythonSoftwareFoundation\.Python\.(\d\.\d+)_")
"""The package name of Python from the Microsoft Store, in the program folder and in the user's folder."""
ALIASES = "WindowsApps"
"""The folder in a user's AppData with the python.exe that starts the Microsoft Store's Python."""
OF_STORES = ("GUIX_PYTHONPATH", "NIX_PYTHONPATH")
WALK = 3000
DEPTH = 11
"""The depth of /home/NAME/.local/share/hatch/env/virtual/PROJECT/HASH/ENVIRONMENT, plus one."""
OF_THE_SYSTEM = frozenset(
    (
        "bin",
        "boot",
        "dev",
        "etc",
        "lib",
        "lib32",
        "lib64",
        "lost+found",
        "proc",
        "run",
        "sbin",
        "snap",
        "sys",
        "tmp",
        "usr",
        "var",
        "windows",
        "system volume information",
    )
)
NEVER = frozenset(
    (
        "lib",
        "lib64",
        "include",
        "site-packages",
        "node_modules",
        ".git",
        "__pycache__",
        "pkgs",
        "library",
        "conda-meta",
        "man",
        "ssl",
        "dlls",
    )
)
"""Folders that are not searched for environments."""


@dataclass(frozen=True, slots=True)
class PythonPaths:
    """The result of `paths`: the version and where the files give it, the package folders, whether the
    environment is a venv, and the folder of the interpreter from which the venv was made."""

    version: str | None
    stated_by: str
    folders: tuple[str, ...]
    venv: bool
    home: str | None = None


def paths(machine: Machine, prefix: str, executable: str | None) -> PythonPaths:
    """The version and the package folders of an environment's Python."""
    settings = _settings(machine, prefix)
    stated = settings.get("version_info") or settings.get("version")
    number = re.match(r"\d+\.\d+(\.\d+)?", stated or "")
    version = number[0] if number else _version_of(machine, prefix, executable)
    found: dict[str, None] = {}
    user = not settings
    sites = site_folders(machine, prefix, version)
    if settings.get("include-system-site-packages", "").lower() == "true" and settings.get("home"):
        user = True
        home = settings["home"].rstrip("/\\")
        sites += site_folders(machine, prefix_of(f"{home}/python") or home, version)
    if user:
        sites = [*_user_site(machine, prefix, version, sites), *sites]
    # the sitecustomize.py of Guix's and Nix's Python adds the folders in these variables
    listed = [path for variable in OF_STORES for path in machine.env.get(variable, "").split(":")]
    for site in (*sites, *(path for path in listed if path and machine.is_dir(path))):
        found.update(dict.fromkeys((site, *_from_pth(machine, site))))
    stated_by = f"{prefix}/pyvenv.cfg" if number else f"the folders of {prefix}"
    return PythonPaths(version, stated_by, tuple(found)[:LIMIT], bool(settings), settings.get("home"))


def named_folders(machine: Machine, env: Mapping[str, str], version: str | None = None) -> list[str]:
    """The package folders in variables: PYTHONPATH, and EBPYTHONPREFIXES, which EasyBuild's Python reads (its
    sitecustomize.py). version: Python's version, if known."""
    named = env.get("PYTHONPATH", "").split(";" if machine.system == "windows" else ":")
    python = f"python{'.'.join(version.split('.')[:2])}" if version else "python3.*"
    for prefix in filter(None, env.get("EBPYTHONPREFIXES", "").split(":")):
        named += machine.glob(f"{prefix}/lib/{python}/site-packages")
    return [path for path in named if path]


def prefix_of(executable: str) -> str | None:
    """The folder of an interpreter's environment: two levels above bin/python, one above python.exe; None for
    a bare name."""
    folder = posixpath.dirname(executable.replace("\\", "/"))
    if posixpath.basename(folder).lower() in ("bin", "scripts"):
        return posixpath.dirname(folder) or "/"
    return folder or None


def environment_of(machine: Machine, executable: str) -> str | None:
    """The folder of an interpreter's environment: the venv's folder if there is a pyvenv.cfg, otherwise the
    folder of the real program behind the links (getpath.py)."""
    folder = prefix_of(executable)
    if folder is not None and machine.exists(f"{folder}/pyvenv.cfg"):
        return folder
    real = machine.resolve(executable)
    if folder is not None and real.startswith("/gnu/store/") and machine.exists(f"{folder}/manifest"):
        return folder  # a Guix profile: its GUIX_PYTHONPATH lists the folder's own packages
    return prefix_of(real)


def environments(machine: Machine) -> Iterator[str]:
    """The folders in a root that contain a Python interpreter. Those nearer to the top come first, the
    system's own last."""
    for folder, names in walked(machine):
        if {"pyvenv.cfg", "conda-meta", "python.exe"} & set(names) or (
            "bin" in names and any(machine.exists(f"{folder}/bin/{name}") for name in ("python", "python3"))
        ):
            yield folder
    if machine.system != "windows":
        yield from ("/usr/local", "/usr")


def walked(machine: Machine) -> Iterator[tuple[str, list[str]]]:
    """The folders other than the system's own, each with the names in it. Those nearer to the top come first.
    The walk ends at a depth of DEPTH, or after WALK folders."""
    top = "C:" if machine.system == "windows" else ""
    queue = [f"{top}/{name}" for name in machine.names_seen(f"{top}/") if name.lower() not in OF_THE_SYSTEM]
    visited = 0
    while queue and visited < WALK:
        following: list[str] = []
        for folder in queue[: WALK - visited]:
            visited += 1
            names = machine.names_seen(folder)
            yield folder, names
            if folder.count("/") < DEPTH:
                below = [name for name in names if name.lower() not in NEVER]
                following += [path for name in below if machine.is_dir(path := f"{folder}/{name}")]
        queue = following


def behind_wrapper(machine: Machine, executable: str) -> tuple[str, dict[str, str]]:
    """The Python that a wrapper script (Nix's, Guix's or a user's own) starts, and the variables that the
    wrapper sets for it. For any other program: the program itself, and {}.

    A wrapper is a shell script that ends in exec, or a program made by makeCWrapper, which contains its own
    command line (nixpkgs, make-binary-wrapper.sh and make-wrapper.sh).
    """
    try:
        head = machine.read(executable, WRAPPER_SIZE + 1) or b""
    except OSError:  # Machine has noted the failure
        return executable, {}
    if len(head) > WRAPPER_SIZE or not (head.startswith(b"#!") or b"makeCWrapper '" in head):
        return executable, {}
    text = head.decode("latin-1")
    started = _STARTED.search(text)
    path = (started[1] or started[2]) if started else None
    if path is None or machine.resolve(path) == machine.resolve(executable) or not machine.exists(path):
        return executable, {}
    values: dict[str, str] = {}
    for match in (*_SCRIPTED.finditer(text), *_COMPILED.finditer(text)):
        name, value = match[1], match[2].rstrip(":")
        values[name] = f"{value}:{values[name]}" if name in values else value
    return path, values


def behind_shim(machine: Machine, executable: str) -> str:
    """The interpreter that pyenv's shim on PATH would start (pyenv, "Choosing the Python version"); other
    programs are returned unchanged."""
    if SHIMS not in executable:
        return executable
    root, _, name = executable.partition("/shims/")
    files = [f"{folder}/.python-version" for folder in _upward(machine.cwd)] + [f"{root}/version"]
    texts = (machine.text(path, 4096) for path in files)
    chosen = machine.env.get("PYENV_VERSION", "").replace(":", " ") or next(
        (text for text in texts if text), ""
    )
    for version in chosen.split():
        for entry in sorted(machine.names_seen(f"{root}/versions"), reverse=True):
            path = f"{root}/versions/{entry}/bin/{name}"
            if (entry == version or entry.startswith(f"{version}.")) and machine.exists(path):
                return path
    return executable


def site_folders(machine: Machine, prefix: str, version: str | None) -> list[str]:
    """The site-packages folders (Debian: dist-packages) below a prefix; those of the newest Python version if
    no version is given."""
    minor = ".".join((version or "").split(".")[:2])
    names = _libraries(machine, prefix)
    if not minor:
        numbers = {tuple(map(int, n)) for n in re.findall(r"(\d{1,2})\.(\d{1,3})", " ".join(names))}
        minor = ".".join(map(str, max(numbers))) if numbers else "3"
    python = next((name for name in names if name in (f"python{minor}t", f"pypy{minor}")), f"python{minor}")
    debian = [f"/usr/local/lib/{python}/dist-packages", "/usr/lib/python3/dist-packages",
              f"/usr/lib/{python}/dist-packages"]  # fmt: skip
    if prefix == "/usr" and any(map(machine.is_dir, debian)):
        candidates = debian
    else:
        kinds = (f"lib/{python}/site-packages", f"lib64/{python}/site-packages", "Lib/site-packages")
        # Fedora, Red Hat and SUSE, whose Python has lib64, look into /usr/local as well
        local = prefix == "/usr" and machine.is_dir(f"/usr/lib64/{python}")
        bases = ("/usr/local", prefix) if local else (prefix,)
        candidates = [f"{base}/{kind}" for base in bases for kind in kinds]
    return machine.distinct_folders(candidates)


def _libraries(machine: Machine, prefix: str) -> list[str]:
    """The names of Python's library folders below a prefix, such as python3.11. Only if there are none, those
    of free-threaded builds and of PyPy, such as python3.13t and pypy3.10."""
    names = [name for lib in ("lib", "lib64") for name in machine.names_seen(f"{prefix}/{lib}")]
    usual = [name for name in names if re.fullmatch(r"python\d\.\d+", name)]
    return usual or [name for name in names if re.fullmatch(r"python\d\.\d+t|pypy\d\.\d+", name)]


def _settings(machine: Machine, prefix: str) -> dict[str, str]:
    """pyvenv.cfg as names and values; {} if the folder is not a virtual environment."""
    lines = (machine.text(f"{prefix}/pyvenv.cfg", 1 << 16) or "").splitlines()
    return {
        k.strip().lower(): v.strip() for k, equals, v in (line.partition("=") for line in lines) if equals
    }


def _version_of(machine: Machine, prefix: str, executable: str | None) -> str | None:
    """A Python's version: in full from conda-meta, or major and minor from the name of the real file or of a
    folder."""
    for name in machine.names_seen(f"{prefix}/conda-meta"):
        match = re.match(r"python-(\d+\.\d+\.\d+)-", name)
        if match:
            return match[1]
    if executable is not None:
        match = re.fullmatch(r"python(\d\.\d+)(?:\.exe)?", posixpath.basename(machine.resolve(executable)))
        if match:
            return match[1]
    texts = [machine.text(f"{folder}/patchlevel.h") for folder in (f"{prefix}/include", f"{prefix}/Include")]
    header = next((text for text in texts if text), "")
    match = re.search(r'PY_VERSION\s+"([\d.]+)', header)
    if match:
        return match[1]
    names = " ".join(_libraries(machine, prefix))
    numbers = [tuple(map(int, n)) for n in re.findall(r"(\d)\.(\d{1,3})", names)]
    if numbers:
        return ".".join(map(str, max(numbers)))
    seen = machine.names_seen(prefix) if machine.system == "windows" else []
    named = STORE.search(" ".join((prefix, *seen)))
    if named:
        return named[1]
    # the DLL beside python.exe, or the folder name that the Windows installer chooses
    match = re.search(r"\bpython(\d)(\d+)\.dll\b", " ".join(seen)) or re.search(
        r"[\\/]Python(\d)(\d+)(?:-\d+)?$", prefix, re.IGNORECASE
    )
    return f"{match[1]}.{match[2]}" if match else None


def _user_site(machine: Machine, prefix: str, version: str | None, sites: Sequence[str]) -> list[str]:
    """The user's own site-packages, if this interpreter searches it (site.ENABLE_USER_SITE).

    sites: the interpreter's own package folders.
    """
    if version is None or machine.env.get("PYTHONNOUSERSITE"):
        return []
    if machine.system == "windows":
        return _user_site_of_windows(machine, prefix.replace("\\", "/"), version.split("."))
    below = f"lib/python{'.'.join(version.split('.')[:2])}/site-packages"
    own = re.match(r"/home/[^/]+", prefix)
    home = machine.env.get("HOME") or (own[0] if own else "")
    base = machine.env.get("PYTHONUSERBASE") or (f"{home}/.local" if home else "")
    bases = [base] if base else []
    known = [*(f"{path}/{below}" for path in bases), *(sites if bases else ())]
    if not machine.live and not any(machine.is_dir(f"{path}/tensorflow") for path in known):
        # the user is not known: assume one whose folder contains TensorFlow
        bases += [path for path in (*machine.glob("/home/*/.local"), "/root/.local")
                  if machine.is_dir(f"{path}/{below}/tensorflow")][:1]  # fmt: skip
    return [f"{path}/{below}" for path in bases if machine.is_dir(f"{path}/{below}")]


def _user_site_of_windows(machine: Machine, prefix: str, version: Sequence[str]) -> list[str]:
    """The user's own site-packages on Windows (CPython, sysconfig, scheme nt_user; for the Microsoft Store's
    Python, PC/python_uwp.cpp)."""
    own = re.match(r"(?:[A-Za-z]:)?/Users/[^/]+", prefix)
    home = machine.env.get("USERPROFILE") or (own[0] if own else "C:/Users/*")
    base = f"{machine.env.get('APPDATA') or f'{home}/AppData/Roaming'}/Python"
    if STORE.search(prefix) or prefix.endswith(ALIASES):
        packages = f"PythonSoftwareFoundation.Python.{'.'.join(version[:2])}_*/LocalCache/local-packages"
        base = f"{home}/AppData/Local/Packages/{packages}"
    base = machine.env.get("PYTHONUSERBASE") or base
    found = machine.glob(f"{base}/Python{''.join(version[:2])}/site-packages")
    return sorted(found, key=lambda path: not machine.is_dir(f"{path}/tensorflow"))[:1]


def _from_pth(machine: Machine, folder: str) -> Iterator[str]:
    """The folders that the .pth files in a package folder add to sys.path, and the folders of editable
    installations."""
    for name in [name for name in machine.names_seen(folder) if name.endswith(".pth")][:LIMIT]:
        for line in machine.text_seen(f"{folder}/{name}", 1 << 16).splitlines()[:LIMIT]:
            line = line.strip()
            finder = re.match(r"import (__editable___\w+_finder)\b", line)
            if finder:
                yield from _editable(machine, f"{folder}/{finder[1]}.py")
            elif line and not line.startswith(("#", "import ", "import\t")):
                path = posixpath.normpath(posixpath.join(folder, line))
                if machine.exists(path):
                    yield path


def _editable(machine: Machine, path: str) -> Iterator[str]:
    """The folders of packages in the mapping of a setuptools finder, if package and folder have the same
    name."""
    match = re.search(
        r"^MAPPING\b[^=\n]{0,80}=\s{0,9}(\{[^}]{0,20000}\})", machine.text(path, 1 << 18) or "", re.MULTILINE
    )
    if match is None:
        return
    import ast

    try:
        mapping = ast.literal_eval(match[1])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return
    for name, place in mapping.items():
        if isinstance(place, str) and posixpath.basename(place) == name and machine.is_dir(place):
            yield posixpath.dirname(place)


def _upward(folder: str | None) -> list[str]:
    """A folder and all folders above it; [] for None."""
    found: list[str] = []
    while folder and folder not in found:
        found.append(folder)
        folder = posixpath.dirname(folder)
    return found
