"""Draws a plot with text characters."""

from __future__ import annotations

from doctor.charts import Chart, number, positions, scaled

SIGNS = "●○▲△■□"
PLAIN = "*o+x#@"


def drawn(chart: Chart, width: int = 78, height: int = 12, *, plain: bool = False) -> str:
    """Return the plot in at most `width` columns and `height` rows, without the axis. plain: use ASCII
    only."""
    if not any(line.points for line in chart.lines):
        return f"{chart.title}: nothing was measured"
    xs, ys, bottom = positions(chart)
    left, right, top = min(xs), max(xs), max(ys)
    labels = [number(top, chart), number(bottom, chart)]
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
    for index, line in enumerate(chart.lines):
        for _ in line.points:
            y = round((ys[at] - bottom) / ((top - bottom) or 1) * (height - 1))
            grid[height - 1 - y][column(xs[at])] = signs[index % len(signs)]
            at += 1
    bar = "|" if plain else "│"
    rows = [f"{chart.title} ({chart.y_label})"]
    for index, row in enumerate(grid):
        label = labels[0] if index == 0 else labels[1] if index == height - 1 else ""
        rows.append(f"{label:>{margin - 1}} {bar}{''.join(row)}".rstrip())
    first, last = number(left, chart), number(right, chart)
    rows.append(" " * margin + ("+" if plain else "└") + ("-" if plain else "─") * columns)
    rows.append(" " * margin + f" {first}{f'{chart.x_label}  {last}':>{columns - len(first)}}")
    if chart.marks:
        rows.append(" " * margin + " " + ", ".join(word for _, word in chart.marks))
    if len(chart.lines) > 1:
        named = (f"{signs[n % len(signs)]} {line.name}" for n, line in enumerate(chart.lines))
        rows.append(" " * margin + " " + "   ".join(named))
    return "\n".join(rows)
