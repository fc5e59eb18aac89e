"""Puts sets of numbers into English: lists, runs and even steps.

It knows no cron. Whatever the set, the words name every member and nothing else.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

SHORTEST_RUN = 3  # members in a row before they are written as "2 through 4"
SHORTEST_STEPS = 4  # members an even distance apart before they are written as "every 5 from 0 through 20"

_TEENS = (11, 12, 13)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def joined(parts: Sequence[str], last: str = "and") -> str:
    """Return the parts as a list in a sentence: "a", "a and b", "a, b and c"."""
    if len(parts) <= 1:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def counted(number: int, noun: str) -> str:
    """Return "1 run", "2 runs", "1,000 runs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ordinal(number: int) -> str:
    """Return "1st", "2nd", "11th"."""
    return f"{number}{'th' if number % 100 in _TEENS else _ENDINGS.get(number % 10, 'th')}"


def even_step(numbers: Collection[int]) -> int | None:
    """Return the distance between neighbours if it is the same throughout and more than one, else None."""
    ordered = sorted(numbers)
    if len(ordered) < SHORTEST_STEPS:
        return None
    distances = {after - before for before, after in pairwise(ordered)}
    step = distances.pop()
    return step if not distances and step > 1 else None


def listed(numbers: Collection[int], named: Callable[[int], str] = str) -> list[str]:
    """Return the members in order, rows of neighbours shortened: "1", "3 through 6"."""
    parts: list[str] = []
    row: list[int] = []
    for number in sorted(numbers):
        if row and number != row[-1] + 1:
            parts += _row(row, named)
            row = []
        row.append(number)
    return parts + _row(row, named)


def _row(row: list[int], named: Callable[[int], str]) -> list[str]:
    if len(row) >= SHORTEST_RUN:
        return [f"{named(row[0])} through {named(row[-1])}"]
    return [named(number) for number in row]
