"""The due index while Redis is away: the database answers in its place, slower but never wrong.

What Redis does not hear of meanwhile does no harm: when it is back it names jobs whose rows say
otherwise, and those are put right one by one; a wiped one is rebuilt.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import structlog

from scheduling.index.base import DueIndex, IndexUnavailable

logger = structlog.get_logger(__name__)

LEAVE_ALONE = 2.0  # seconds before Redis is tried again: each try may take its whole timeout

T = TypeVar("T")


class FallbackDueIndex(DueIndex):
    def __init__(self, first: DueIndex, second: DueIndex) -> None:
        self.first = first
        self.second = second
        self._away_since: float | None = None
        self._try_again_at = 0.0

    def put(self, due: Mapping[UUID, datetime]) -> None:
        self._do(lambda index: index.put(due))

    def discard(self, jobs: Collection[UUID]) -> None:
        self._do(lambda index: index.discard(jobs))

    def lease(self, *, now: datetime, until: datetime, limit: int) -> list[UUID]:
        return self._do(lambda index: index.lease(now=now, until=until, limit=limit))

    def settle(self, next_due: Mapping[UUID, datetime | None]) -> None:
        self._do(lambda index: index.settle(next_due))

    def restore(self, due: Mapping[UUID, datetime]) -> None:
        self._do(lambda index: index.restore(due))

    def rebuilding(self) -> AbstractContextManager[None]:
        return self._do(lambda index: index.rebuilding())

    def next_due(self, *, after: datetime) -> datetime | None:
        return self._do(lambda index: index.next_due(after=after))

    def size(self) -> int:
        return self._do(lambda index: index.size())

    def known(self, jobs: Collection[UUID]) -> dict[UUID, datetime]:
        return self.first.known(jobs)

    def complete(self) -> bool:
        return self.first.complete()

    def server(self) -> dict[str, str]:
        return self.first.server()

    def ping(self) -> None:
        self.first.ping()

    def _do(self, act: Callable[[DueIndex], T]) -> T:
        """Ask the first; while it is away, the second. Said once when it goes, and once when it is back."""
        if time.monotonic() < self._try_again_at:
            return act(self.second)
        try:
            answer = act(self.first)
        except IndexUnavailable as error:
            if self._away_since is None:
                self._away_since = time.monotonic()
                logger.warning("index.degraded", error=str(error), meanwhile="the database answers in its place")
            self._try_again_at = time.monotonic() + LEAVE_ALONE
            return act(self.second)
        if self._away_since is not None:
            logger.info("index.recovered", seconds=round(time.monotonic() - self._away_since, 1))
            self._away_since = None
        return answer
