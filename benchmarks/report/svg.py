"""Three kinds of picture, written by hand as SVG: bars that lie on their side, a line through points, and several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from math import floor, log10
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 800, 270, 90, 50, 50
NAME_HEIGHT = 16  # pixels from one curve's name to the next
LETTER = 7  # pixels of a name's letter, about
ROW, BAR = 34, 22  # pixels from bar to bar, and of a bar
LINE_HEIGHT = 240  # pixels of a line chart, without its margins
INK, OURS, THEIRS, FAINT = "#1f2933", "#2b6cb0", "#a0aec0", "#cbd2d9"
COLOURS = (OURS, "#c05621", "#2f855a", "#6b46c1", "#b83280", "#4a5568", "#b7791f")  # of several lines in one picture
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
    left = max(LEFT, LETTER * max((len(bar.name) for bar in bars), default=0))
    parts = []
    for place, bar in enumerate(bars):
        top = TOP + ROW * place
        length = (WIDTH - left - RIGHT) * bar.value / most
        colour = OURS if bar.ours else THEIRS
        parts += [
            _text(left - 8, top + BAR - 6, bar.name, anchor="end"),
            f'<rect x="{left}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
            _text(left + length + 6, top + BAR - 6, f"{_number(bar.value)} {unit}".strip()),
        ]
    return _picture(title, height, parts)


def line_chart(title: str, points: Sequence[Point], *, across: str, up: str) -> str:
    """A line through points, both axes from zero."""
    frame = _Frame(points)
    parts = [*frame.grid(across, up), frame.line(points, OURS)]
    for point in points:
        x, y = frame.place(point)
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{OURS}"/>',
            _text(x, y - 10, _number(point.y), anchor="middle"),
            _text(x, frame.floor + 18, f"{point.x:g}", anchor="middle"),
        ]
    return _picture(title, frame.height, parts)


def curves_chart(title: str, curves: Mapping[str, Sequence[Point]], *, across: str, up: str) -> str:
    """A line for each, with its name and last number at its end; both axes from zero."""
    every = [point for points in curves.values() for point in points]
    frame = _Frame(every, right=WIDTH - 220)
    parts = frame.grid(across, up)
    free = float(frame.height)
    for colour, (name, points) in zip(cycle(COLOURS), sorted(curves.items(), key=lambda one: one[1][-1].y)):
        x, y = frame.place(points[-1])
        free = min(y + 4, free - NAME_HEIGHT)  # no name lies on another
        parts += [frame.line(points, colour), _text(x + 8, free, f"{name}: {_number(points[-1].y)}", colour=colour)]
    parts += [
        _text(frame.place(Point(x, 0))[0], frame.floor + 18, f"{x:.3g}", anchor="middle")
        for x in sorted({point.x for point in every})
    ]
    return _picture(title, frame.height, parts)


class _Frame:
    """Where points lie in a picture with two axes."""

    height = TOP + LINE_HEIGHT + BOTTOM
    floor = TOP + LINE_HEIGHT

    def __init__(self, points: Sequence[Point], *, left: int = 80, right: int = WIDTH - 40) -> None:
        self.left, self.right = left, right
        self._widest = max((point.x for point in points), default=0) or 1
        self._most = _round_number(max((point.y for point in points), default=0) * ROOM or 1)

    def place(self, point: Point) -> tuple[float, float]:
        across = self.left + (self.right - self.left) * point.x / self._widest
        return across, self.floor - LINE_HEIGHT * point.y / self._most

    def grid(self, across: str, up: str) -> list[str]:
        parts = []
        for step in range(GRID + 1):
            y = self.floor - LINE_HEIGHT * step / GRID
            parts += [
                f'<line x1="{self.left}" y1="{y:.1f}" x2="{self.right}" y2="{y:.1f}" stroke="{FAINT}"/>',
                _text(self.left - 8, y + 4, _number(self._most * step / GRID), anchor="end"),
            ]
        middle = (self.left + self.right) / 2
        return [*parts, _text(middle, self.floor + 38, across, anchor="middle"), _text(self.left, TOP - 8, up)]

    def line(self, points: Sequence[Point], colour: str) -> str:
        trace = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.place, points))
        return f'<polyline points="{trace}" fill="none" stroke="{colour}" stroke-width="3"/>'


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


def _text(x: float, y: float, words: str, *, anchor: str = "start", colour: str = INK) -> str:
    fill = "" if colour == INK else f' fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{fill}>{escape(words)}</text>'


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"
