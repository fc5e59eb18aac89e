"""What a handler says while it runs: how far it is, and lines for whoever looks.

A voice is made with the first word, so that handlers that say nothing cost nothing. It keeps within bounds what one
attempt may say, and passes words on; it never waits for anybody. The thread it speaks on can be interrupted between
any two steps, so that nothing here holds a lock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import datetime
from itertools import count
from typing import Any, NamedTuple

from jobs.documents import storable_text
from jobs.redaction import cleaned_start
from jobs.states import Level

PAUSE = 0.1  # seconds between two words of progress: nobody reads faster
LONGEST_LINE = 8192  # characters
LONGEST_MESSAGE = 200  # characters, of progress
SPARE = 1000  # characters of a longer text that are cleaned besides
LEVELS = tuple(level.value for level in Level)


class Line(NamedTuple):
    """A line of the log. `number` tells two from each other that say the same."""

    number: int
    at: datetime
    level: str
    text: str


class Step(NamedTuple):
    """How far it is. Of two, the one with the higher `number` was said later."""

    number: int
    at: datetime
    fraction: float
    message: str


Words = Line | Step


class Bounds(NamedTuple):
    """What one attempt may say."""

    lines: int
    size: int  # bytes, of all lines together


class Voice:
    """The words of one attempt. `hear` may be called from any thread, and must return at once.

    `clean` takes out of a text what nobody may read.
    """

    def __init__(
        self,
        hear: Callable[[Words], None],
        now: Callable[[], datetime],
        bounds: Bounds,
        clean: Callable[[str], str] = str,
    ) -> None:
        self._hear = hear
        self._clean = clean
        self._now = now
        self._bounds = bounds
        self._numbers = count(1)
        self._lines = 0
        self._size = 0
        self._dropped = 0
        self._unsaid: Step | None = None
        self._may_say_at = 0.0

    def log(self, text: Any, level: str) -> None:
        if level not in LEVELS:
            raise ValueError(f"{level!r} is no level. Choose one of {', '.join(LEVELS)}.")
        line = self._cleaned(text, LONGEST_LINE)
        size = len(line.encode())
        if self._lines >= self._bounds.lines or self._size + size > self._bounds.size:
            self._dropped += 1
            return
        self._lines += 1
        self._size += size
        self._hear(Line(next(self._numbers), self._now(), level, line))

    def _cleaned(self, told: Any, longest: int) -> str:
        text = cleaned_start(self._clean, storable_text(str(told)), longest + SPARE)
        return text if len(text) <= longest else f"{text[: longest - 1]}…"

    def progress(self, fraction: float, message: Any) -> None:
        done = round(float(fraction), 4) if math.isfinite(fraction) else -1.0
        if not 0 <= done <= 1:
            raise ValueError(f"Progress of {fraction} is not between 0 and 1. Say which part is done, such as 0.4.")
        words = self._cleaned(message, LONGEST_MESSAGE)
        self._unsaid = Step(next(self._numbers), self._now(), done, words)
        self.catch_up()

    def catch_up(self) -> None:
        """Say the latest progress, unless another was said a moment ago: then whoever calls again says it."""
        step, now = self._unsaid, time.monotonic()
        if step is not None and now >= self._may_say_at:
            self._may_say_at = now + PAUSE
            self._hear(step)
            if self._unsaid is step:
                self._unsaid = None

    def finish(self) -> None:
        """Say what is left to say."""
        if self._unsaid is not None:
            self._hear(self._unsaid)
        if self._dropped:
            told = (
                f"{self._dropped} more line(s) were dropped: of one attempt, at most {self._bounds.lines} lines and "
                f"{self._bounds.size} bytes are kept (LOG_LINES, LOG_BYTES)."
            )
            self._hear(Line(next(self._numbers), self._now(), "warning", told))
