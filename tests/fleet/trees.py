"""Makes nodes as file trees: copies of a recorded machine, each with one difference. `check --root` reads
them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from doctor import api

ROOT = Path(__file__).resolve().parents[2]
MACHINE = ROOT / "tests/data/machines/simulated-rtx3070-2.18.1"


def tree(folder: Path, texts: Sequence[tuple[str, str]] = (), without: Sequence[str] = ()) -> Path:
    """Copy the recorded machine, replace texts in the contents and names of its files, and leave out files
    that match `without`."""
    shutil.copytree(MACHINE, folder, symlinks=True)
    for pattern in without:
        for path in folder.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_symlink():
            target = os.readlink(path)
            new = _with(target, texts)
            if new != target:
                path.unlink()
                path.symlink_to(new)
        elif path.is_file() and texts:
            data = path.read_bytes()
            new_data = data
            for old, instead in texts:
                if (
                    len(old) == len(instead)
                    or path.name == ".tfgpu-doctor.json"
                    or path.stat().st_size < 4096
                ):
                    new_data = new_data.replace(old.encode(), instead.encode())
            if new_data != data:
                path.write_bytes(new_data)
        if _with(path.name, texts) != path.name:
            path.rename(path.with_name(_with(path.name, texts)))
    return folder


def _with(text: str, texts: Sequence[tuple[str, str]]) -> str:
    for old, new in texts:
        text = text.replace(old, new)
    return text


def report(root: Path) -> str:
    """Return the report of `check --root` on a tree, as one line of JSON."""
    return json.dumps(api.check(root=str(root)).to_dict())
