"""Draws a plot with text characters."""

from __future__ import annotations

from doctor.charts import Chart, scaled

SIGNS = "●○▲△■□"
PLAIN = "*o+x#@"


def drawn(chart: Chart, width: int = 78, height: int = 12, *, plain: bool = False) -> str:
    """Return the plot in at most `width` columns and `height` rows, without the axis. plain: use ASCII
    only."""
    points = [point for line in chart.lines for point in line.points]
    if not points:
        return f"{chart.title}: nothing was measured"
    xs = scaled([x for x, _ in points], chart.logarithmic)
    ys = scaled([y for _, y in points], chart.logarithmic)
    left, right, top = min(xs), max(xs), max(ys)
    bottom = min(ys) if chart.logarithmic else 0.0
    labels = [_short(_back(top, chart)), _short(_back(bottom, chart))]
    margin = max(map(len, labels)) + 1
    columns = max(10, width - margin - 1)
    grid = [[" "] * columns for _ in range(height)]

    def column(x: float) -> int:
        return round((x - left) / ((right - left) or 1) * (columns - 1))

    for mark, _ in chart.marks:
        for row in grid:
            place = column(scaled([mark], chart.logarithmic)[0])
            if 0 <= place < columns:
                row[place] = "|" if plain else "┊"
    signs = PLAIN if plain else SIGNS
    at = 0
    for number, line in enumerate(chart.lines):
        for _ in line.points:
            y = round((ys[at] - bottom) / ((top - bottom) or 1) * (height - 1))
            grid[height - 1 - y][column(xs[at])] = signs[number % len(signs)]
            at += 1
    bar = "|" if plain else "│"
    rows = [f"{chart.title} ({chart.y_label})"]
    for number, row in enumerate(grid):
        label = labels[0] if number == 0 else labels[1] if number == height - 1 else ""
        rows.append(f"{label:>{margin - 1}} {bar}{''.join(row)}".rstrip())
    first, last = _short(_back(left, chart)), _short(_back(right, chart))
    rows.append(" " * margin + ("+" if plain else "└") + ("-" if plain else "─") * columns)
    rows.append(" " * margin + f" {first}{f'{chart.x_label}  {last}':>{columns - len(first)}}")
    if chart.marks:
        rows.append(" " * margin + " " + ", ".join(word for _, word in chart.marks))
    if len(chart.lines) > 1:
        named = (f"{signs[n % len(signs)]} {line.name}" for n, line in enumerate(chart.lines))
        rows.append(" " * margin + " " + "   ".join(named))
    return "\n".join(rows)


def _back(value: float, chart: Chart) -> float:
    return float(10**value) if chart.logarithmic else value


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
