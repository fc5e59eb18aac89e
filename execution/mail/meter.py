"""What filling in a mail's templates may cost: one budget of work and of memory for all templates of the mail.

Counted, and not measured by a clock, so that the same mail is refused on a fast machine and on a slow one. A unit of
work is about what a character costs in a fast filter. Processor time is limited besides, for what counting misses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

MAX_WORK = 10_000_000  # units, at most 70 ns each: a loop with a few cells over all rows that a payload can have
MAX_MADE = 4_000_000  # characters and members that nodes and filters make: what a rendering may hold in memory
MAX_SECONDS = 1.0  # of this thread's processor time
STEP = 100  # units: a node, a filter, or an iteration
MEMBER = 4  # units: one of an array's or an object's
VALUE = 20  # units: a value that is looked up


class TemplateTooLarge(Exception):
    """The template makes too much, or takes too long."""


class Meter:
    """What the templates of one mail have used so far."""

    def __init__(self) -> None:
        self._ends_at = time.thread_time() + MAX_SECONDS
        self.work = 0
        self.made_so_far = 0

    def step(self, times: int = 1) -> None:
        """Count a node, a filter or an iteration, or one that costs as much as several."""
        self.count(STEP * times)
        if time.thread_time() > self._ends_at:
            raise TemplateTooLarge("too many steps. Loop over fewer items, or send prepared text.")

    def count(self, work: int) -> None:
        self.work += work
        if self.work > MAX_WORK:
            raise TemplateTooLarge("too many steps. Loop over fewer items, or send prepared text.")

    def look_through(self, value: Any, times: int = 1) -> None:
        """Count all that is in a value, at any depth: it may be written out or compared."""
        self.count(VALUE)
        parts = [value]
        while parts:
            part = parts.pop()
            if isinstance(part, str):
                self.count(len(part) * times)
            elif isinstance(part, dict):
                self.count(len(part) * MEMBER * times)
                parts += part.keys()
                parts += part.values()
            elif isinstance(part, (list, tuple)):
                self.count(len(part) * MEMBER * times)
                parts += part

    def made(self, value: Any) -> None:
        """Count what a node or a filter has made."""
        if isinstance(value, (str, list, tuple)):
            self.made_so_far += len(value)
            if self.made_so_far > MAX_MADE:
                raise TemplateTooLarge(
                    f"the output has more than {MAX_MADE:,} characters. Send less, or link to the rest."
                )
            self.count(len(value))


_current: ContextVar[Meter] = ContextVar("meter of a mail's templates")


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Have everything within counted by this meter."""
    token = _current.set(meter)
    try:
        yield
    finally:
        _current.reset(token)


def current_meter() -> Meter:
    return _current.get()


class Counted:
    """An array or a text, each of whose items is counted when it is taken."""

    def __init__(self, items: Any) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return self._counted(iter(self._items))

    def __reversed__(self) -> Iterator[Any]:
        return self._counted(reversed(self._items))

    @staticmethod
    def _counted(items: Iterator[Any]) -> Iterator[Any]:
        meter = current_meter()
        for item in items:
            meter.step()
            yield item
