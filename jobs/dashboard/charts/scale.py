"""Round ends for axes, and numbers and times as people read them. Pure."""

from __future__ import annotations

from math import floor, log10

ROUND = (1, 2, 3, 4, 5, 6, 8, 10)


def round_up(value: float) -> float:
    """The next number that an axis can end with."""
    if value <= 0:
        return 1
    power = float(10 ** floor(log10(value)))
    return next(step * power for step in ROUND if step * power >= value * 0.9999)


def seconds_told(seconds: float) -> str:
    """A length of time, to about three figures."""
    if seconds < 0.0005:
        return "0 ms"
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def count_told(count: float) -> str:
    """A whole number in few characters."""
    for size, letter in ((1_000_000, "M"), (10_000, "k")):
        if count >= size:
            return f"{count / (1000 if letter == 'k' else size):.3g}{letter}"
    return f"{count:,.0f}"
