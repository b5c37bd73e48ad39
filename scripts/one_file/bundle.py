"""Collects the contents of the single-file program and of the web page: the project's modules and tables, and
the pure-Python packages that they need."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REQUIREMENTS = ROOT / "scripts" / "one_file" / "requirements.txt"
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time stamp of every member. It is fixed, so that two builds give the same file."""
COMPILED = (".so", ".pyd", ".dll", ".dylib", ".pyc")
UNUSED = re.compile(
    r"[^/]+/(?:__main__\.py|cli(?:\.py|/))|urllib3/contrib/(?:emscripten/|pyopenssl|socks)"
    r"|packaging/(?:licenses/|metadata|pylock)"
    r"|rich/(?:_inspect|diagnose|layout|logging|markdown|progress|prompt|syntax|traceback|tree)\.py"
)
"""Matches what this file never imports: a package's own program, urllib3's connections in a browser or
through packages that are not in this file, packaging's readers of licences, METADATA and lock files, and what
rich prints besides tables and text."""
LICENCE = re.compile(
    r"([\w.]+)-[\w.]+\.dist-info/(?:licenses/)?((?:LICEN[CS]E|NOTICE|COPYING)[^/]*)$", re.IGNORECASE
)


def own() -> Iterator[tuple[str, bytes]]:
    """Yield the project's modules and data."""
    for package in ("doctor", "compat_tables"):
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT).as_posix(), path.read_bytes()
    yield "licenses/tfgpu-doctor/LICENSE", (ROOT / "LICENSE").read_bytes()


def others(wheels: Path | None, only: Iterable[str] = ()) -> dict[str, bytes]:
    """Return the modules and licences of the packages that the project needs, each checked against its hash.
    wheels: a folder that contains the wheels; None to fetch them with pip. only: the names of the wanted
    packages; empty for all. Raises SystemExit if pip fails, and for a wheel that is not pure Python.
    """
    with tempfile.TemporaryDirectory() as folder:
        _fetch(Path(folder), wheels, tuple(only))
        return dict(_unpacked(Path(folder)))


def _unpacked(folder: Path) -> Iterator[tuple[str, bytes]]:
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(archive.namelist()):
                licence = LICENCE.match(name)
                if licence:
                    yield f"licenses/{licence[1]}/{licence[2]}", archive.read(name)
                elif name.endswith(COMPILED):
                    sys.exit(f"{wheel.name} contains {name}, which is compiled for one kind of machine only")
                elif not (
                    name.endswith("/") or ".dist-info/" in name or ".data/" in name or UNUSED.match(name)
                ):
                    yield name, archive.read(name)


def _fetch(folder: Path, wheels: Path | None, only: tuple[str, ...]) -> None:
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    wanted = folder / "requirements.txt"
    wanted.write_text(
        "\n".join(line for line in lines if not only or line.partition("==")[0] in only), encoding="utf-8"
    )
    source = ["--no-index", "--find-links", str(wheels)] if wheels else []
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--python-version",
        "3.8",
        "--implementation",
        "py",
        "--abi",
        "none",
        "--platform",
        "any",
        "--dest",
        str(folder),
        *source,
        "-r",
        str(wanted),
    ]
    done = subprocess.run(pip, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"pip could not fetch the required packages:\n{done.stdout.strip()}")


def write(target: Path, members: Mapping[str, bytes], first_line: bytes = b"") -> None:
    """Write a file that consists of a first line and a zip archive. The file gets its final name only when it
    is complete."""
    draft = target.with_name(f".{target.name}.part")
    with open(draft, "wb") as stream:
        stream.write(first_line)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in sorted(members):
                about = zipfile.ZipInfo(name, LONG_AGO)
                about.external_attr = 0o644 << 16
                about.create_system = 3  # Unix, on whatever system the archive is made
                about.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(about, members[name])
    draft.chmod(0o755 if first_line else 0o644)
    draft.replace(target)
