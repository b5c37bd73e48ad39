"""The requirements for pip: a TensorFlow release, and the pins that make it work.

There are two kinds of pin: bounds on plain Python packages whose newer releases break a TensorFlow release
that sets no bound on them, and a bound on cuDNN if the newest cuDNN that the extra allows has no kernels for
a GPU.
"""

from __future__ import annotations

import re

from doctor.compat.install import pip_cudnn
from doctor.tables import Tables, TensorFlowRelease, dotted
from doctor.tables.ordering import order
from doctor.tables.ranges import within
from doctor.tables.store import remembered
from doctor.tables.versions import minor
from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class Pin:
    """An additional requirement for pip. requirement: its text ("numpy<2"); why: the reason; rows: the table
    rows that support it."""

    requirement: str
    why: str
    rows: tuple[str, ...] = ()


def requirement(build: TensorFlowRelease, *, extra: bool) -> str:
    """Return the release as a requirement for pip. extra: whether to include the extra and-cuda, which
    installs CUDA."""
    return f"{build.package}{'[and-cuda]' if extra else ''}=={build.version}"


def companions(build: TensorFlowRelease, tables: Tables) -> tuple[Pin, ...]:
    """Return the bounds on other packages that a build needs but does not declare in its METADATA (from the
    table of dependencies)."""
    return _companions(tables, build.version, build.requires)


@remembered
def _companions(tables: Tables, version: str, requires: tuple[str, ...]) -> tuple[Pin, ...]:
    """See companions. requires: the requirements in the release's METADATA."""
    found = []
    for row in tables.store.all("dependencies") if tables.store.has("dependencies") else ():
        if not within(version, row["tensorflow"], order):
            continue
        stated = [r for r in requires if re.match(rf"{re.escape(row['package'])}\b", r, re.IGNORECASE)]
        if any("<" in r.partition(";")[0] or "==" in r or "~=" in r for r in stated):
            continue
        whose = {"it": "", "its": "'s"}
        subject, _, rest = row["reason"].partition(" ")  # "it was compiled ...", "its generated code ..."
        why = f"TensorFlow {version}{whose[subject]} {rest}" if subject in whose else row["reason"]
        found.append(
            Pin(f"{row['package']}{row['pin']}", why, (f"dependencies {row['package']}: {row['source']}",))
        )
    return tuple(found)


def cudnn_bound(build: TensorFlowRelease, tables: Tables, capabilities: tuple[str, ...]) -> Pin | None:
    """Return the pin that limits cuDNN to releases with kernels for the GPUs, or None if the newest cuDNN
    that the build's extra allows has such kernels, or if no cuDNN has them."""
    serving = pip_cudnn(build, tables, capabilities)
    if not capabilities or serving is None or serving.package is None or serving == pip_cudnn(build, tables):
        return None
    return _bound(tables, serving.package, serving.version, capabilities)


@remembered
def _bound(tables: Tables, package: str, version: str, capabilities: tuple[str, ...]) -> Pin:
    """Return the pin that keeps a cuDNN package at `version`, the newest release that supports the GPUs."""
    rows = sorted((r for r in tables.cudnns() if r.package == package), key=lambda r: dotted(r.version))
    mine = next(r for r in rows if r.version == version)
    later = next((r for r in rows if dotted(r.version) > dotted(version)), None)
    bound = f"=={version}"
    if later is not None:
        bound = f"<={version}" if minor(later.version) == minor(version) else f"<{minor(later.version)}"
    why = f"cuDNN {version} is the newest with kernels for compute capability {', '.join(capabilities)}"
    return Pin(f"{package}{bound}", why, tuple(row.ref for row in (mine, later) if row is not None))
