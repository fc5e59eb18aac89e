"""How long a task's handlers take, and so how many of its executions go together.

Fast ones share a message, a claim and a thread, because handing each over would cost more than running it. Slow ones
go alone: whoever waits behind a slow one would better be with an idle neighbour. Executors measure, everybody
who sends wants to know, so what was measured is kept in the database.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from threading import Lock
from typing import TypeVar

import structlog
from django.db import DatabaseError, InterfaceError

from execution.models import TaskPace

logger = structlog.get_logger(__name__)

T = TypeVar("T")
BatchSize = Callable[[str], int | None]

EXCHANGE_EVERY = 2.0  # seconds
WEIGHT_OF_NEWS = 0.5  # of the latest two seconds against all that was known before


def batched(items: Sequence[T], size: int) -> Iterator[tuple[T, ...]]:
    """Them in their order, so many at a time."""
    for start in range(0, len(items), size):
        yield tuple(items[start : start + size])


class Pace:
    """Safe to share between threads. A bundle is at most `most`, and should be run within `span`.

    Where `batch_size` knows how many a task's handler takes at once, it is that many, however long they take.
    """

    def __init__(self, *, most: int, span: timedelta, batch_size: BatchSize = lambda task: None) -> None:
        self.most = most
        self._batch_size = batch_size
        self.span = span.total_seconds()
        self._known: dict[str, float] = {}  # seconds, by task
        self._noted: dict[str, tuple[int, float]] = {}  # since the last exchange: how many, and their seconds together
        self._exchange_at = time.monotonic()
        self._lock = Lock()

    def bundle(self, task: str) -> int:
        """How many executions of `task` should go together. One, as long as nobody has run any."""
        if (size := self._batch_size(task)) is not None:
            return min(self.most, size)
        seconds = self._known.get(task)
        return 1 if seconds is None else max(1, min(self.most, int(self.span / max(seconds, 1e-9))))

    def note(self, took: Iterable[tuple[str, float]]) -> None:
        """Remember how many seconds handlers took, each with its task."""
        with self._lock:
            for task, seconds in took:
                count, total = self._noted.get(task, (0, 0.0))
                self._noted[task] = count + 1, total + seconds

    def exchange(self) -> None:
        """Every few seconds, tell others what was noted here, and learn what they have found."""
        with self._lock:
            now = time.monotonic()
            if now < self._exchange_at:
                return
            self._exchange_at = now + EXCHANGE_EVERY
            noted, self._noted = self._noted, {}
        try:
            if noted:
                TaskPace.objects.write({task: self._mixed(task, *noted[task]) for task in sorted(noted)})
            self._known = dict(TaskPace.objects.values_list("task", "seconds"))
        except (DatabaseError, InterfaceError) as error:
            # Only ever a hint: without it, bundles stay as they were.
            logger.debug("pace.not_exchanged", error=str(error))

    def _mixed(self, task: str, count: int, total: float) -> float:
        news = total / count
        return news + (self._known.get(task, news) - news) * (1 - WEIGHT_OF_NEWS)
