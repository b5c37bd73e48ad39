"""Draws a plot as SVG, without any library."""

from __future__ import annotations

from html import escape

from doctor.charts import Chart, number, positions, scaled, ticks

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 440, 76, 20, 40, 96
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""The palette of Okabe and Ito, which colour-blind readers can distinguish."""


def drawn(chart: Chart) -> str:
    """Return the plot as the text of an SVG file."""
    xs, ys, bottom = positions(chart)
    left, right, top = min(xs), max(xs), max(ys)

    def across(x: float) -> float:
        return LEFT + (x - left) / ((right - left) or 1) * (WIDTH - LEFT - RIGHT)

    def down(y: float) -> float:
        return HEIGHT - BOTTOM - (y - bottom) / ((top - bottom) or 1) * (HEIGHT - TOP - BOTTOM)

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
            f' height="{HEIGHT}" font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(chart.title)}</text>',
    ]
    for y in ticks(bottom, top, chart.logarithmic):
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down(y):.1f}" y2="{down(y):.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{down(y) + 4:.1f}" text-anchor="end">{number(y, chart)}</text>'
        )
    for x in ticks(left, right, chart.logarithmic):
        parts.append(
            f'<line x1="{across(x):.1f}" x2="{across(x):.1f}" y1="{HEIGHT - BOTTOM}"'
            f' y2="{HEIGHT - BOTTOM + 4}" stroke="#888"/><text x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 16}"'
            f' text-anchor="middle">{number(x, chart)}</text>'
        )
    for mark, word in chart.marks:
        x = across(scaled([mark], chart.logarithmic)[0])
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#888"'
            f' stroke-dasharray="4 3"/><text x="{x + 3:.1f}" y="{TOP + 10}" fill="#555"'
            f' font-size="10">{escape(word)}</text>'
        )
    at = 0
    for index, line in enumerate(chart.lines):
        colour = COLOURS[index % len(COLOURS)]
        places = [(across(xs[at + i]), down(ys[at + i])) for i in range(len(line.points))]
        at += len(line.points)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        if len(places) <= 40:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        x, y = LEFT + index % 3 * 220, HEIGHT - 34 + index // 3 * 17
        parts.append(
            f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>'
            f'<text x="{x + 17}" y="{y + 10}">{escape(line.name)}</text>'
        )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - BOTTOM + 36}"'
        f' text-anchor="middle">{escape(chart.x_label)}</text><text transform="translate(16 {middle})'
        f' rotate(-90)" text-anchor="middle">{escape(chart.y_label)}</text>'
    )
    return "\n".join([*parts, "</svg>", ""])
