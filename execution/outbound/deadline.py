"""One limit for all the steps of an exchange: a peer that answers each of them slowly gains nothing."""

from __future__ import annotations

import time

from execution.outbound.errors import NoAnswer

GLANCE = 0.5  # seconds: the longest single wait in C code, where no interruption is heard


class Deadline:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._at = time.monotonic() + seconds

    def left(self, doing: str, *, most: float = GLANCE) -> float:
        """How long the next wait may take, at most; NoAnswer when the time is up. `doing` is for its message."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise NoAnswer(f"The time of {self.seconds:g} s was up while {doing}.")
        return min(left, most)
