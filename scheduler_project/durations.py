"""Lengths of time as people write them: `90d`, `12h`, `1h30m`, `500ms`, or a plain number of seconds."""

from __future__ import annotations

import re
from datetime import timedelta

UNITS = {"w": 604_800.0, "d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}  # seconds, the longest first
LONGEST = 10**9  # seconds
NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
# Each unit once and in order: "30m1h" is more likely a slip than a length of time.
IN_UNITS = re.compile("".join(rf"(?:({NUMBER}){unit}(?![a-z]))?" for unit in UNITS))  # 5ms has no minutes
PLAIN = re.compile(NUMBER)


def parse_duration(text: str) -> timedelta:
    """A length of time of at least 0. Raises ValueError."""
    text = text.strip()
    if PLAIN.fullmatch(text):
        seconds = float(text)
    elif text and (found := IN_UNITS.fullmatch(text)):
        seconds = sum(float(count) * unit for count, unit in zip(found.groups("0"), UNITS.values(), strict=True))
    else:
        raise ValueError(f"{text!r} is not a length of time. Write one such as 90d, 12h, 1h30m, 30s or 500ms.")
    if seconds >= LONGEST:
        raise ValueError(f"{text!r} is longer than {LONGEST:,} seconds.")
    return timedelta(seconds=seconds)
