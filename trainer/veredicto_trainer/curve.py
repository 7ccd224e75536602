"""A learning curve as text for a terminal and as SVG for a page; no drawing library."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 720, 320, 44
"""Pixels of the SVG, and of the space around the plot."""


def text_curve(values: Sequence[float], *, height: int = 10, width: int = 72) -> str:
    """A plot of values in [0, 1] over steps, one character per step or per mean of neighbouring steps."""
    if not values:
        return "(no steps)"
    columns = _columns(values, width)
    rows = []
    for level in range(height, 0, -1):
        marks = "".join(_mark(value * height - (level - 1)) for value in columns)
        rows.append(f"{level / height:4.2f} |{marks}")
    return "\n".join([*rows, f"     +{'-' * len(columns)}", f"      step 1 to {len(values)}: mean reward"])


def _mark(fill: float) -> str:
    """The character for the part of a cell that is below the curve."""
    return " .:#"[min(3, max(0, round(fill * 3)))]


def _columns(values: Sequence[float], width: int) -> list[float]:
    count = min(width, len(values))
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]


def svg_curve(values: Sequence[float], *, title: str, window: int = 10) -> str:
    """An SVG of values in [0, 1] over steps: a point per step and the running mean of the last `window`."""
    means = [sum(values[max(0, i - window + 1) : i + 1]) / min(window, i + 1) for i in range(len(values))]
    points = " ".join(f"{_x(i, len(values)):.1f},{_y(v):.1f}" for i, v in enumerate(means))
    dots = "".join(f'<circle cx="{_x(i, len(values)):.1f}" cy="{_y(v):.1f}" r="2"/>' for i, v in enumerate(values))
    ticks = "".join(_tick(level / 4) for level in range(5))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
        f'<text x="{MARGIN}" y="24" font-size="14">{escape(title)}</text>{ticks}'
        f'<g fill="#9bb8d3">{dots}</g><polyline points="{points}" fill="none" stroke="#1f5f99" stroke-width="2"/>'
        f'<text x="{MARGIN}" y="{HEIGHT - 12}">step 1</text>'
        f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - 12}" text-anchor="end">step {len(values)}; '
        f"line: mean of the last {window} steps</text></svg>\n"
    )


def _tick(level: float) -> str:
    y = _y(level)
    line = f'<line x1="{MARGIN}" y1="{y:.1f}" x2="{WIDTH - MARGIN}" y2="{y:.1f}" stroke="#dddddd"/>'
    return f'{line}<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{level:.2f}</text>'


def _x(index: int, count: int) -> float:
    return MARGIN + index * (WIDTH - 2 * MARGIN) / max(count - 1, 1)


def _y(value: float) -> float:
    return HEIGHT - MARGIN - value * (HEIGHT - 2 * MARGIN)
