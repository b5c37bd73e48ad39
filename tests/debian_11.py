"""Makes a folder that contains Debian 11 with its own Python 3.9, and a newer Python for the tool, as a user
of Debian 11 may have it.

The folder is made once by debootstrap and kept in the cache of tests/tensorflow_envs.py. Nothing outside the
folder is changed. Programs run in the folder with chroot, in their own mount namespace, so that no mount
outlives them. The newer Python is a copy of the interpreter that runs the tests, together with its C library.
patchelf changes its loader and its search path, so it is as independent of the system's libraries as a Python
that uv installs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.tensorflow_envs import kept, package_env

RELEASE = "bullseye"
PACKAGES = "python3,python3-venv,ca-certificates,gcc,libc6-dev"
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
NEWER = f"opt/newer-{VERSION}"
WORK = "root"
BESIDE = (
    "libnss_dns.so.2",
    "libnss_files.so.2",
    "libresolv.so.2",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libm.so.6",
    "libgcc_s.so.1",
    "libstdc++.so.6",
)
"""The libraries that the C library loads to look up names, and those to which compiled Python packages are
linked."""
ROOT = Path(__file__).resolve().parent.parent


def reason_against() -> str:
    """Return the reason why the folder cannot be made or used on this machine, or "" if it can."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return "a Debian 11 folder runs on Linux x86_64 only"
    if os.geteuid() != 0:
        return "chroot and debootstrap need root"
    missing = [name for name in ("debootstrap", "chroot", "unshare") if shutil.which(name) is None]
    return f"{', '.join(missing)} is not installed (apt install debootstrap)" if missing else ""


def distribution() -> Path:
    """Return the folder with only Debian in it. It is made if it is missing. Raises RuntimeError if it cannot
    be made."""
    with kept("debian-11") as folder:
        if not (folder / ".finished").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", RELEASE, str(folder)])
            (folder / ".finished").touch()
    return folder


def debian_11() -> Path:
    """Return the folder with the newer Python and the tool of this checkout. Raises RuntimeError if it cannot
    be made."""
    folder = distribution()
    with kept("debian-11"):
        place = folder / NEWER
        if not (place / ".finished").exists():
            shutil.rmtree(place, ignore_errors=True)
            _newer_python(place)
            (place / ".finished").touch()
        _tool(place)
    return folder


def newer_python() -> str:
    """Return the path, inside the folder, of the newer Python for the tool."""
    return f"/{NEWER}/bin/{VERSION}"


def run_inside(
    folder: Path, command: list[str], timeout: int, *, seen: tuple[Path, ...] = (), network: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder, as a user's shell there would. pip uses the settings and the cache of this
    machine. seen: folders of this machine that are visible under the same path. network: whether there is a
    network.
    """
    cache = _pip_cache()
    (folder / "root/.cache/pip").mkdir(parents=True, exist_ok=True)
    for name in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        if Path("/", name).exists():
            shutil.copyfile(Path("/", name), folder / name)
    mounts = [("/proc", "proc"), ("/dev", "dev")] + ([(cache, "root/.cache/pip")] if cache else [])
    for path in seen:
        mounts.append((str(path), str(path.relative_to("/"))))
        (folder / mounts[-1][1]).mkdir(parents=True, exist_ok=True)
    script = " && ".join(f'mount --bind "{where}" "{folder / place}"' for where, place in mounts)
    script += f' && exec chroot "{folder}" "$@"'
    kept = {
        k: v
        for k, v in os.environ.items()
        if k.startswith(("PIP_", "HTTP", "http", "NO_PROXY", "no_proxy")) and k != "PIP_FIND_LINKS"
    }
    environment = {
        **kept,
        "PATH": f"/{NEWER}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": f"/{WORK}",
        "LC_ALL": "C.UTF-8",
    }
    inner = ["sh", "-c", f'cd /{WORK} && exec "$@"', "sh", *command]
    return subprocess.run(
        ["unshare", "--mount", *([] if network else ["--net"]), "sh", "-c", script, "sh", *inner],
        env={**environment, "PATH": environment["PATH"] + ":/usr/sbin"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def _pip_cache() -> str | None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode or not done.stdout.strip():
        return None
    Path(done.stdout.strip()).mkdir(parents=True, exist_ok=True)
    return done.stdout.strip()


def _newer_python(place: Path) -> None:
    """Copy this Python and its libraries, and make them independent of the folder's own libraries."""
    base = Path(sys.base_prefix)
    unwanted = shutil.ignore_patterns(
        "site-packages", "test", "tests", "idlelib", "tkinter", "config-*", "__pycache__", "*.a"
    )
    shutil.copytree(base / "lib" / VERSION, place / "lib" / VERSION, ignore=unwanted, symlinks=True)
    (place / "lib" / VERSION / "site-packages").mkdir()
    (place / "bin").mkdir()
    program = place / "bin" / VERSION
    shutil.copy2(Path(sys.executable).resolve(), program)
    objects = [program, *(place / "lib" / VERSION / "lib-dynload").glob("*.so")]
    libraries: dict[str, str] = {}
    for path in objects:
        out = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        libraries |= dict(re.findall(r"(\S+) => (/\S+)", out))
        libraries |= {Path(p).name: p for p in re.findall(r"^\s+(/\S*ld-linux\S*)", out, re.MULTILINE)}
    system = place / "system"
    system.mkdir()
    for name, path in libraries.items():
        shutil.copy2(Path(path).resolve(), system / name)
    for extra in BESIDE:
        for path in Path("/lib/x86_64-linux-gnu").glob(extra):
            shutil.copy2(path.resolve(), system / extra)
    loader = next(name for name in libraries if name.startswith("ld-linux"))
    inside = f"/{NEWER}/system"
    patchelf = package_env("patchelf", ["patchelf"]).parent / "patchelf"
    _run(
        [
            str(patchelf),
            "--set-interpreter",
            f"{inside}/{loader}",
            "--force-rpath",
            "--set-rpath",
            inside,
            str(program),
        ]
    )
    linked = [
        str(p) for p in (*objects[1:], *system.iterdir()) if not p.name.startswith(("ld-linux", "libc.so"))
    ]
    _run([str(patchelf), "--force-rpath", "--set-rpath", inside, *linked])


def _tool(place: Path) -> None:
    """Copy the tool from this checkout, and the packages that it needs."""
    site = place / "lib" / VERSION / "site-packages"
    table = re.search(
        r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL
    )
    assert table is not None
    needs = re.findall(r'"([^"]+)"', table[1])
    stated = site / "needs.txt"
    if not stated.exists() or stated.read_text() != "\n".join(needs):
        _run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--upgrade",
                "--target",
                str(site),
                *needs,
            ]
        )
        stated.write_text("\n".join(needs))
    for name in ("doctor", "compat_tables"):
        shutil.rmtree(site / name, ignore_errors=True)
        shutil.copytree(ROOT / name, site / name, ignore=shutil.ignore_patterns("__pycache__"))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {(done.stderr + done.stdout)[-2000:]}")
