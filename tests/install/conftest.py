"""Provides a package index on disk, so that tests can make the real pip and the real venv fail without a
network."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest


def wheel(
    folder: Path, name: str, version: str, requires: tuple[str, ...] = (), files: dict[str, str] | None = None
) -> Path:
    """Make a small but real wheel for any platform."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    contents = {f"{name.replace('-', '_')}/__init__.py": f"__version__ = {version!r}\n", **(files or {})}
    info = f"{stem}.dist-info"
    extra = "Provides-Extra: and-cuda\n" if name == "tensorflow" else ""
    contents[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{extra}"
        + "".join(f"Requires-Dist: {r}\n" for r in requires)
    )
    contents[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    lines = []
    for path, text in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(text.encode())}")
    contents[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"
    made = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)
    return made


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make an index on disk, which is the only one that pip uses. index("tensorflow", "2.20.0") adds a wheel
    to it. hash: a wrong hash to state for the wheel."""
    root = tmp_path / "index"
    for variable in (
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "PIP_NO_INDEX",
        "PIP_REQUIREMENT",
        "PIP_CONSTRAINT",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", root.as_uri())
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def add(
        name: str,
        version: str,
        requires: tuple[str, ...] = (),
        *,
        hash: str = "",
        files: dict[str, str] | None = None,
    ) -> Path:
        place = root / name
        made = wheel(place, name, version, requires, files)
        digest = hash or hashlib.sha256(made.read_bytes()).hexdigest()
        (place / "index.html").write_text(f'<a href="{made.name}#sha256={digest}">{made.name}</a>')
        return made

    add("pip", "0.0.1")  # so `pip install --upgrade pip` finds nothing newer
    return add
