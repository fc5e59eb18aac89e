"""What a check finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """How much it matters. The highest of all findings is the exit status of `manage.py doctor`."""

    NOTE = 0  # worth knowing; nothing is wrong
    WARNING = 1  # works, and will not for long, or not as expected
    ERROR = 2  # does not work, or loses something


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    code: str  # stays the same, for whoever tells findings apart by program
    fact: str
    remedy: str
    repair: str = ""  # the name of what `--repair` does about it, of what is safe


def note(code: str, fact: str, remedy: str, *, repair: str = "") -> Finding:
    return Finding(Level.NOTE, code, fact, remedy, repair)


def warning(code: str, fact: str, remedy: str, *, repair: str = "") -> Finding:
    return Finding(Level.WARNING, code, fact, remedy, repair)


def error(code: str, fact: str, remedy: str, *, repair: str = "") -> Finding:
    return Finding(Level.ERROR, code, fact, remedy, repair)
