"""A table of figures, for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Line(NamedTuple):
    figure: str
    value: str
    note: str = ""


HEAD = Line("figure", "value", "how to read it")
UNKNOWN = "not measured"


def as_text(table: Sequence[Line]) -> str:
    table = [HEAD, *table]
    wide = [max(len(line[place]) for line in table) for place in (0, 1)]
    return "\n".join(f"{one.figure:<{wide[0]}}  {one.value:>{wide[1]}}  {one.note}".rstrip() for one in table)


def as_markdown(table: Sequence[Line]) -> str:
    rows = [HEAD, Line("---", "---:", "---"), *table]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def number(value: float | None, unit: str = "") -> str:
    """As many digits as mean something."""
    if value is None:
        return UNKNOWN
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"
    return f"{text} {unit}".strip()
