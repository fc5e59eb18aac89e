"""Two kinds of picture, written by hand as SVG: bars that lie on their side, and a line through points."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 800, 270, 90, 50, 50
ROW, BAR = 34, 22  # pixels from bar to bar, and of a bar
LINE_HEIGHT = 240  # pixels of a line chart, without its margins
INK, OURS, THEIRS, FAINT = "#1f2933", "#2b6cb0", "#a0aec0", "#cbd2d9"
GRID = 4  # lines across, besides the one at zero
ROOM = 1.05  # for the number above the highest point
ROUND = (1, 2, 4, 6, 8, 10)  # what an axis may end with: it is cut into four


class Bar(NamedTuple):
    name: str
    value: float
    ours: bool = False


class Point(NamedTuple):
    x: float
    y: float


def bar_chart(title: str, bars: Sequence[Bar], unit: str = "") -> str:
    """One bar a line, each with its number, drawn from zero: what is twice as long is twice as much."""
    height = TOP + ROW * len(bars) + 12
    most = max((bar.value for bar in bars), default=0) or 1
    parts = []
    for place, bar in enumerate(bars):
        top = TOP + ROW * place
        length = (WIDTH - LEFT - RIGHT) * bar.value / most
        colour = OURS if bar.ours else THEIRS
        parts += [
            _text(LEFT - 8, top + BAR - 6, bar.name, anchor="end"),
            f'<rect x="{LEFT}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
            _text(LEFT + length + 6, top + BAR - 6, f"{_number(bar.value)} {unit}".strip()),
        ]
    return _picture(title, height, parts)


def line_chart(title: str, points: Sequence[Point], *, across: str, up: str) -> str:
    """A line through points, both axes from zero."""
    height = TOP + LINE_HEIGHT + BOTTOM
    left, right, floor = 80, WIDTH - 40, TOP + LINE_HEIGHT
    widest = max((point.x for point in points), default=0) or 1
    most = _round_number(max((point.y for point in points), default=0) * ROOM or 1)
    places = [(left + (right - left) * x / widest, floor - LINE_HEIGHT * y / most) for x, y in points]
    parts = []
    for step in range(GRID + 1):
        y = floor - LINE_HEIGHT * step / GRID
        parts += [
            f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{FAINT}"/>',
            _text(left - 8, y + 4, _number(most * step / GRID), anchor="end"),
        ]
    trace = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{trace}" fill="none" stroke="{OURS}" stroke-width="3"/>')
    for (x, y), point in zip(places, points, strict=True):
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{OURS}"/>',
            _text(x, y - 10, _number(point.y), anchor="middle"),
            _text(x, floor + 18, f"{point.x:g}", anchor="middle"),
        ]
    parts += [_text((left + right) / 2, floor + 38, across, anchor="middle"), _text(left, TOP - 8, up)]
    return _picture(title, height, parts)


def _round_number(value: float) -> float:
    """The next one above that an axis may end with."""
    unit = 10.0 ** floor(log10(value))
    return next(unit * digit for digit in ROUND if unit * digit >= value)


def _picture(title: str, height: int, parts: Sequence[str]) -> str:
    name = escape(title, {'"': "&quot;"})
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
            f'font-size="13" fill="{INK}" role="img" aria-label="{name}">',
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            f'<text x="12" y="24" font-size="16" font-weight="bold">{name}</text>',
            *parts,
            "</svg>",
            "",
        ]
    )


def _text(x: float, y: float, words: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"
