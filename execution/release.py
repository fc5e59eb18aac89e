"""How fast work goes on once a destination answers again: slowly first, then faster and faster. Pure.

Whoever has just come back from an outage is met by all that waited meanwhile. Let go at once, that would be the next
outage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """Begins with `start` executions a second, and lets twice as many go every `doubling` seconds, up to `cap`."""

    start: float
    doubling: float
    cap: float

    @property
    def over_after(self) -> float:
        """Seconds until the pace no longer grows: there is nothing left to be careful about."""
        return self.doubling * math.log2(max(1.0, self.cap / self.start))

    def count(self, seconds: float) -> int:
        """How many may have gone `seconds` after the first, which itself is one of them."""
        growing = min(max(0.0, seconds), self.over_after)
        gone = self._scale * (2 ** (growing / self.doubling) - 1) + self.cap * max(0.0, seconds - growing)
        return 1 + int(gone)

    def place(self, number: int) -> float:
        """After how many seconds the one with this number, counted from zero, may go."""
        while_growing = self._scale * (2 ** (self.over_after / self.doubling) - 1)
        growing = min(float(number), while_growing)
        return self.doubling * math.log2(1 + growing / self._scale) + (number - growing) / self.cap

    @property
    def _scale(self) -> float:
        return self.start * self.doubling / math.log(2)
