"""When a process that lives long has its garbage collected."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterable
from contextlib import suppress

YOUNG = 20_000  # objects made before the collector looks at them; a batch is thousands, and none of them in cycles
LARGE = 64 * 1024  # bytes of a body or an answer: smaller ones leave little behind
SWEEP_BYTES = 2 * 1024 * 1024  # of large ones between two sweeps; parsed, it is some twenty times as much
LIBC = ctypes.CDLL(None)


def keep_what_is_loaded() -> None:
    """Call it when everything is loaded: that is there to stay, and looking through it again and again takes time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 10, 10)


class Sweeper:
    """Collects garbage by the bytes that it may hold: of bodies and answers, or of payloads.

    Each request of REST framework is a cycle with its view and its body, which the collector alone frees. It counts
    objects, not bytes: dozens of large bodies, parsed, would wait for it, and the process would keep the sum of them.
    """

    def __init__(self, every: int = SWEEP_BYTES) -> None:
        self.sweeps = 0
        self._every = every
        self._since = 0

    def passed_all(self, sizes: Iterable[int]) -> None:
        """Note several at once. The small ones, which are most, cost next to nothing."""
        for size in filter(LARGE.__le__, sizes):
            self.passed(size)

    def passed(self, size: int) -> None:
        """Note that a thread is done with a body or an answer of this number of bytes."""
        if size < LARGE:
            return
        self._since += size  # two threads at once may lose one of these: then the next sweep is later by as much
        if self._since >= self._every:
            self._since = 0
            self.sweeps += 1
            gc.collect()
            _give_back()


def _give_back() -> None:
    """Have the allocator return what it holds to the system, where it can."""
    with suppress(AttributeError):  # not glibc
        LIBC.malloc_trim(0)
