"""How long to leave a broker alone that has just failed us."""

from __future__ import annotations

import random
import time

FIRST_PAUSE = 0.25  # s
LONGEST_PAUSE = 10.0  # s
STABLE_AFTER = 10.0  # s; a connection that lived this long owes nothing to earlier failures


def pause(failures: int) -> float:
    """Seconds to wait after so many failures in a row, spread over the upper half.

    Without the spread, all that lost the same broker would return to it at the same moment.
    """
    longest = min(FIRST_PAUSE * 2.0 ** min(failures - 1, 10), LONGEST_PAUSE)
    return longest * random.uniform(0.5, 1)


class Patience:
    """Counts failures in a row, and knows when the next try is due."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.failures = 0
        self._retry_at = 0.0

    def failed(self, *, lived: float) -> float:
        """Note the end of a connection that lived so long (0: it never opened); return the pause."""
        self.failures = 1 if lived >= STABLE_AFTER else self.failures + 1
        seconds = pause(self.failures)
        self._retry_at = time.monotonic() + seconds
        return seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._retry_at
