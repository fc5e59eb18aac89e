"""Answers in lines: for people in columns, for machines as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

WIDEST = 60  # characters of a column


def show_one(told: Mapping[str, Any], as_json: bool) -> None:
    print(json.dumps(told, ensure_ascii=False, indent=None if as_json else 2))


def show_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], as_json: bool) -> None:
    if as_json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return
    cells = [[cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in ([name.upper().replace("_", " ") for name in columns], *cells):
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def cell(value: Any) -> str:
    text = " ".join(str("" if value is None else value).split())
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
