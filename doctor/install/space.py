"""Compares the disk space that an installation needs with the free space."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from doctor.plan import Plan

# Measured with pip on Linux x86_64, in MiB. TensorFlow's folder (and its wheel): 2.15.1 1,370 (453), 2.21.0
# 1,879 (546), 2.10.1 1,340. NVIDIA's folder: 2,872 with the exact pins of 2.15.1, 2,881 with CUDA 11 by name,
# 4,227 with the open ranges of 2.21.0, for which 2,700 are downloaded. Everything else: 255.
UNPACKED_FACTOR = 3.5
OTHER_PACKAGES = 400
NVIDIA_PINNED = (3000, 1800)
NVIDIA_OPEN = (4600, 2900)
"""(disk space, download) in MiB, for an extra that pins each package, and for one with version ranges."""


def needed_mib(plan: Plan) -> tuple[int, int]:
    """Return cautious estimates in MiB: the space that the environment needs, and the space for the downloads
    in the cache."""
    build = plan.candidate.build
    wheel = float(build.data.get("size_mib") or 600)
    unpacked, download = 0, 0
    if plan.candidate.situation.route == "pip-and-cuda" and plan.route != "cpu":
        pins = build.extras.get("and-cuda", {})
        unpacked, download = NVIDIA_PINNED if all("==" in pin for pin in pins.values()) else NVIDIA_OPEN
        if "tensorrt" in pins and plan.candidate.extra:  # 2.14: the wheel of tensorrt is 550 MiB
            unpacked, download = unpacked + 1300, download + 560
    return (
        int(wheel * UNPACKED_FACTOR) + OTHER_PACKAGES + unpacked,
        int(wheel) + OTHER_PACKAGES // 3 + download,
    )


def nearest_folder(path: Path) -> Path:
    """Return the path if it exists, otherwise its nearest parent that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def cache_folder() -> Path | None:
    """Return the folder of pip's cache: PIP_CACHE_DIR, or else the one that pip reports, or None if pip has
    none."""
    named = os.environ.get("PIP_CACHE_DIR")
    if named:
        return Path(named)
    try:
        command = [sys.executable, "-m", "pip", "cache", "dir"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None


def shortage(plan: Plan, env: Path, temporary: Path, cache: Path | None) -> str | None:
    """Return a sentence if there is not enough space, or None if there is. If folders are on the same disk,
    their needs are added."""
    unpacked, wheels = needed_mib(plan)
    wants: dict[int, tuple[Path, int]] = {}
    for path, mib in ((env, unpacked), (temporary, wheels), (cache, wheels)):
        if path is None:
            continue
        folder = nearest_folder(path)
        device = folder.stat().st_dev
        first, so_far = wants.get(device, (folder, 0))
        wants[device] = (first, so_far + mib)
    for folder, mib in wants.values():
        free = shutil.disk_usage(folder).free >> 20
        if free < mib:
            return (
                f"about {mib / 1024:.1f} GiB is needed on the disk that holds {folder}, but only"
                f" {free / 1024:.1f} GiB is free"
            )
    return None
