"""Shows how far a simulation is: a bar drawn anew on a terminal, a line now and then for whoever reads a log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from jobs.demo.simulation import Progress

WIDTH = 30  # characters of the bar
LINE_EVERY = 10.0  # seconds: often enough to see that it lives, and an hour of it can still be read


class Output(Protocol):
    """As much of Django's stream of a command as is needed."""

    def isatty(self) -> bool: ...
    def write(self, text: str, *, ending: str) -> None: ...
    def flush(self) -> None: ...


class Display(ABC):
    def __init__(self, out: Output, seconds: int) -> None:
        self._out = out
        self._seconds = seconds

    @abstractmethod
    def show(self, one: Progress) -> None:
        """Called about each second, or more often."""


class Bar(Display):
    def show(self, one: Progress) -> None:
        done = min(1.0, one.seconds / self._seconds)
        self._out.write(f"\r\033[K{'█' * int(WIDTH * done):░<{WIDTH}} {_counts(one)}", ending="")
        self._out.flush()


class Lines(Display):
    """The first at once, and then one every LINE_EVERY."""

    _next = 0.0

    def show(self, one: Progress) -> None:
        if one.seconds < self._next:
            return
        self._next = one.seconds + LINE_EVERY
        time = f"{one.seconds:.0f} s of {self._seconds} s" if one.seconds < self._seconds else f"{one.seconds:.0f} s"
        self._out.write(f"{time}: {_counts(one)}", ending="\n")
        self._out.flush()


def display(out: Output, seconds: int) -> Display:
    return Bar(out, seconds) if out.isatty() else Lines(out, seconds)


def _counts(one: Progress) -> str:
    return f"{one.created:,} created, {one.waiting:,} waiting or running"
