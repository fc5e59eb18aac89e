"""Answers in lines: for people in columns, for machines as JSON.

Errors, names and results are written by others. Nothing of them reaches a terminal as a control character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

WIDEST = 60  # characters of a column
UNPRINTABLE = re.compile(r"[^\n\x20-\x7e]")


def show_one(told: Mapping[str, Any], as_json: bool) -> None:
    print(_json(told, indent=None if as_json else 2))


def show_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], as_json: bool) -> None:
    if as_json:
        for row in rows:
            print(_json(row))
        return
    cells = [[cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in ([name.upper().replace("_", " ") for name in columns], *cells):
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def cell(value: Any) -> str:
    text = printable(" ".join(str("" if value is None else value).split()))
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def printable(text: str) -> str:
    """The same with `\\x1b` and the like in the place of characters that a terminal would obey."""
    return UNPRINTABLE.sub(lambda found: found[0] if found[0].isprintable() else _escaped(found[0]), text)


def _json(told: Mapping[str, Any], indent: int | None = None) -> str:
    text = json.dumps(told, ensure_ascii=False, indent=indent)
    return UNPRINTABLE.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
