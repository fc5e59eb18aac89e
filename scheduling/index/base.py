"""Which jobs are due next, and what that answer promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from uuid import UUID


class IndexUnavailable(Exception):
    """The due index cannot be reached. Nothing is lost: the database knows every due time."""


class IndexIncomplete(Exception):
    """The due index was wiped, or never filled: rebuild it before trusting its answers."""


class DueIndex(ABC):
    """Which jobs are due next: a cache ordered by time. Losing it costs a rebuild and nothing else.

    It may name a job too early, twice, or one that is gone: whoever leases a job reads its row
    before believing. What it must not do is keep a due job to itself, so anything it may have
    missed is put back by `restore`. Safe to share between threads.
    """

    @abstractmethod
    def put(self, due: Mapping[UUID, datetime]) -> None:
        """Set when jobs are due, replacing what was known and ending any lease on them."""

    @abstractmethod
    def discard(self, jobs: Collection[UUID]) -> None:
        """Forget jobs that are no longer due."""

    @abstractmethod
    def lease(self, *, now: datetime, until: datetime, limit: int) -> list[UUID]:
        """Return due jobs, earliest first, hiding each from other pollers until `until`.

        An index in several slots promises that order within each: what fills a batch may not be the earliest of all.
        Safe to repeat: a caller that never saw the answer loses nothing, the jobs reappear.
        Raises IndexIncomplete when the index was wiped since it was last filled.
        """

    @abstractmethod
    def settle(self, next_due: Mapping[UUID, datetime | None]) -> None:
        """End leases: each job is due again at the given time, or never.

        A job that was put anew during the lease keeps that newer time.
        """

    @abstractmethod
    def restore(self, due: Mapping[UUID, datetime]) -> None:
        """Add what is missing and bring forward what is late; leases and earlier times stay."""

    @abstractmethod
    def rebuilding(self) -> AbstractContextManager[None]:
        """A `with` block in which everything is restored: the index is complete after it, unless wiped meanwhile."""

    @abstractmethod
    def next_due(self, *, after: datetime) -> datetime | None:
        """When the first job is due that is due after that, not earlier than it really is; None if there is none.

        Says nothing of what is leased, or due before.
        """

    @abstractmethod
    def size(self) -> int:
        """How many jobs the index holds, leased ones included."""

    @abstractmethod
    def known(self, jobs: Collection[UUID]) -> dict[UUID, datetime]:
        """When each of these jobs is due, by the index; those it does not know are missing. A leased one is in hand."""

    @abstractmethod
    def complete(self) -> bool:
        """Whether the index is filled: neither new, nor wiped since."""

    @abstractmethod
    def server(self) -> dict[str, str]:
        """What the index's own server says of itself, by the names it uses; empty where it has none."""

    @abstractmethod
    def ping(self) -> None:
        """Do nothing, or raise IndexUnavailable with the reason."""
