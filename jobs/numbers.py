"""Reads whole numbers as they stand in addresses and forms. Pure.

`int()` is too generous for text from outside: it takes `１０`, `1_0`, ` 5 ` and `0000000001000`, and raises for more
than 4,300 digits. Here a number has one spelling, and a length that no bound of ours reaches.
"""

from __future__ import annotations

import re

MAX_DIGITS = 18  # what fits into 64 bits, whatever the digits are
WHOLE_NUMBER = rf"(?:0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}})"

_WHOLE = re.compile(WHOLE_NUMBER, re.ASCII)


def read_whole_number(text: str) -> int | None:
    """The number from 0 on that the text spells in ASCII digits without leading zeros; None for any other text."""
    return int(text) if _WHOLE.fullmatch(text) else None
