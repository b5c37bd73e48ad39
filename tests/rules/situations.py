"""Moves cases to another platform, TensorFlow release and Python version: the symptoms stay the same, but the
environment changes."""

from __future__ import annotations

from doctor.facts import (
    EnvironmentKind,
    Facts,
    OperatingSystem,
    Platform,
    PythonVersion,
    Source,
    TensorFlowBuild,
    TensorFlowVersion,
)

SYSTEMS = {"linux": "Ubuntu 22.04", "wsl": "Ubuntu 22.04", "windows": "Windows 11", "macos": "macOS 14"}
STATED = (TensorFlowVersion, PythonVersion, Platform, OperatingSystem, EnvironmentKind, TensorFlowBuild)


def moved(
    facts: Facts,
    *,
    platform: str,
    release: str | None,
    python: str | None,
    environments: tuple[str, ...] = (),
) -> Facts:
    """Return the same symptoms on another system, with another TensorFlow release and Python version. None
    means not stated."""
    where = Source("moved", 1, f"{platform}, TensorFlow {release}, Python {python}")
    items = [f for f in facts if not isinstance(f, STATED)]
    items += [
        Platform(where, platform, "arm64" if platform == "macos" else "x86_64"),
        OperatingSystem(where, SYSTEMS[platform]),
    ]
    items += [EnvironmentKind(where, name) for name in environments]
    items += [TensorFlowVersion(where, release)] if release else []
    items += [PythonVersion(where, python)] if python else []
    return Facts(tuple(items), facts.kind, facts.name, facts.lines)
