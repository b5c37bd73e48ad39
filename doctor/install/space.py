"""Is there room: what an installation takes on disk, and what is free."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from doctor.plan import Plan

# What was measured with pip on Linux x86_64, in MiB: TensorFlow's wheel unpacks to about this many times its size
# (2.15.1: 453 to 1,300; 2.21.0: 546 to 1,700), the other packages take 600, and NVIDIA's libraries of the extra
# and-cuda 1,400 (2.15.1) to 2,300 (2.21.0). The wheels lie in the cache besides: 1,400 to 2,200 for those.
UNPACKED_FACTOR = 3.1
OTHER_PACKAGES = 600
NVIDIA_UNPACKED = 2500
NVIDIA_WHEELS = 2300


def needed_mib(plan: Plan) -> tuple[int, int]:
    """What the environment takes, and what the download takes in the cache, in MiB; estimates on the safe side."""
    wheel = float(plan.candidate.build.data.get("size_mib") or 600)
    nvidia = plan.route == "pip-and-cuda"
    return (
        int(wheel * UNPACKED_FACTOR) + OTHER_PACKAGES + (NVIDIA_UNPACKED if nvidia else 0),
        int(wheel) + OTHER_PACKAGES // 3 + (NVIDIA_WHEELS if nvidia else 0),
    )


def nearest_folder(path: Path) -> Path:
    """The path, or the first parent that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def cache_folder() -> Path | None:
    """pip's cache: PIP_CACHE_DIR, else what pip says; None where pip has none."""
    named = os.environ.get("PIP_CACHE_DIR")
    if named:
        return Path(named)
    import sys

    try:
        done = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, timeout=30,
                              check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None


def shortage(plan: Plan, env: Path, temporary: Path, cache: Path | None) -> str | None:
    """Where there is not enough room, in a sentence; None where there is. Folders on one disk are added up."""
    unpacked, wheels = needed_mib(plan)
    wants: dict[int, tuple[Path, int]] = {}
    parts = [(env, unpacked), (temporary, wheels)] + ([(cache, wheels)] if cache is not None else [])
    for path, mib in parts:
        folder = nearest_folder(path)
        device = folder.stat().st_dev
        first, so_far = wants.get(device, (folder, 0))
        wants[device] = (first, so_far + mib)
    for folder, mib in wants.values():
        free = shutil.disk_usage(folder).free >> 20
        if free < mib:
            return f"about {mib / 1024:.1f} GiB are needed on the disk of {folder}, and {free / 1024:.1f} GiB are free"
    return None
