"""Bounds the bytes of bodies and answers that a process holds.

At the bound, the oldest transfer of the address that holds most is dropped. So a client with many slow transfers
is affected first, and a client with one small request last.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable


class Holder:
    """One body or answer: how many bytes of it are held for which address."""

    def __init__(self, address: str, drop: Callable[[], None]) -> None:
        self.address = address
        self.bytes = 0
        self.dropped = False
        self.drop: Callable[[], None] | None = drop  # None: it is being answered, and can no longer be dropped


def end_now(deadline: asyncio.Timeout) -> None:
    """End a transfer's time. Between the end of its time and the turn of its task, the deadline cannot be moved."""
    if not deadline.expired():
        deadline.reschedule(asyncio.get_running_loop().time())


class Holding:
    """Used from the event loop alone."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.total = 0
        self._holders: dict[Holder, None] = {}  # in the order in which they came

    def grow(self, holder: Holder, size: int) -> None:
        """Account for `size` more bytes, and drop transfers until all that is held is within the bound."""
        self._holders[holder] = None
        holder.bytes += size
        self.total += size
        while self.total > self.max_bytes and (victim := self._victim()):
            drop, victim.dropped = victim.drop, True
            self.release(victim)
            if drop is not None:
                drop()

    def release(self, holder: Holder) -> None:
        if self._holders.pop(holder, holder) is None:
            self.total -= holder.bytes
        holder.bytes = 0

    def _victim(self) -> Holder | None:
        held: Counter[str] = Counter()
        oldest: dict[str, Holder] = {}
        for holder in self._holders:
            held[holder.address] += holder.bytes
            if holder.drop is not None:
                oldest.setdefault(holder.address, holder)
        return max(oldest.values(), key=lambda holder: held[holder.address], default=None)
