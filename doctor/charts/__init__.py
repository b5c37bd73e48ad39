"""Draws line plots: as text for a terminal, as SVG, and as PNG if a library that renders SVG is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from doctor.errors import InputError, UnableError
from doctor.files import cannot_write, write_whole
from doctor.values import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot: its name and its points (x, y)."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot. marks: a vertical line at each x, with a word. logarithmic: both axes are logarithmic."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    marks: tuple[tuple[float, str], ...] = ()
    logarithmic: bool = False


def may_write(path: str) -> None:
    """Check that a plot can be written to a path, before anything is measured. Raises InputError for a file
    name that ends in neither .svg nor .png, and UnableError if this installation cannot draw PNG or the
    folder does not exist."""
    ending = Path(path).suffix.lower()
    if ending not in (".svg", ".png"):
        raise InputError(f"{path}: the name of a plot must end in .svg or .png")
    if ending == ".png" and _drawer() is None:
        raise UnableError(
            "PNG needs the package cairosvg, which is not installed", f"use {Path(path).with_suffix('.svg')}"
        )
    if not Path(path).absolute().parent.is_dir():
        raise UnableError(f"cannot write `{path}`: its folder does not exist")


def write(chart: Chart, path: str) -> None:
    """Write the plot as SVG or PNG, depending on the file extension. Raises the errors of `may_write`, and
    UnableError if the file cannot be written."""
    from doctor.charts.svg import drawn

    may_write(path)
    data = drawn(chart).encode()
    if path.lower().endswith(".png"):
        draw = _drawer()
        assert draw is not None
        data = draw(bytestring=data)
    try:
        write_whole(path, data)
    except OSError as error:
        raise cannot_write(path, error) from error


def _drawer() -> Callable[..., bytes] | None:
    try:
        import cairosvg  # type: ignore[import-not-found,unused-ignore]
    except (ImportError, OSError):
        return None
    draw: Callable[..., bytes] = cairosvg.svg2png
    return draw


def scaled(values: Sequence[float], logarithmic: bool) -> list[float]:
    """Return the positions of the values on an axis: the values themselves, or their logarithms on a
    logarithmic axis. On such an axis, values up to 0 are placed at the smallest positive value."""
    from math import log10

    if not logarithmic:
        return list(values)
    least = min((value for value in values if value > 0), default=1.0)
    return [log10(max(value, least)) for value in values]


def positions(chart: Chart) -> tuple[list[float], list[float], float]:
    """Return the positions of all points of a plot on the two axes, line by line, and the lower end of the
    vertical axis. A plot without points gets one at the origin."""
    points = [point for line in chart.lines for point in line.points] or [(0.0, 0.0)]
    across, down = (scaled(values, chart.logarithmic) for values in zip(*points))
    return across, down, min(down) if chart.logarithmic else 0.0


def number(position: float, chart: Chart) -> str:
    """Return the value at a position on an axis as text, with three digits."""
    value = 10**position if chart.logarithmic else position
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """Return round values for an axis from `low` to `high`. On a logarithmic axis, all of these values are
    logarithms."""
    from math import ceil, floor, log10

    if logarithmic:
        factors = (1, 2, 5) if high - low < 2.5 else (1,)
        found = [
            power + log10(factor)
            for power in range(floor(low), ceil(high) + 1)
            for factor in factors
            if low - 1e-9 <= power + log10(factor) <= high + 1e-9
        ]
        return found[:: max(1, len(found) // 8)]
    if high <= low:
        return [low]
    rough = (high - low) / 5
    base = 10.0 ** floor(log10(rough))
    step = next(base * factor for factor in (1, 2, 5, 10) if base * factor >= rough)
    return [step * n for n in range(ceil(low / step), floor(high / step) + 1)]
