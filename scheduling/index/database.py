"""The due index where there is no Redis: the jobs themselves, through an index on `next_run_at`.

Most of the port has nothing to do here, because the truth needs no copy. Only leases are kept,
in a column of the job.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, connection

from jobs import ledger
from jobs.models import Job
from scheduling.index.base import DueIndex, IndexUnavailable


class DatabaseDueIndex(DueIndex):
    def put(self, due: Mapping[UUID, datetime]) -> None:
        """Nothing to do: whoever wrote the job's new due time ended its lease with it."""

    def discard(self, jobs: Collection[UUID]) -> None:
        pass

    def lease(self, *, now: datetime, until: datetime, limit: int) -> list[UUID]:
        return ledger.lease_due(now=now, until=until, limit=limit)

    def settle(self, next_due: Mapping[UUID, datetime | None]) -> None:
        """Nothing to do: the transaction that recorded the next run ended the lease."""

    def restore(self, due: Mapping[UUID, datetime]) -> None:
        pass

    @contextmanager
    def rebuilding(self) -> Iterator[None]:
        yield

    def next_due(self, *, after: datetime) -> datetime | None:
        ahead = Job.objects.scheduled().filter(next_run_at__gt=after).order_by("next_run_at")
        return ahead.values_list("next_run_at", flat=True).first()

    def size(self) -> int:
        return Job.objects.scheduled().count()

    def known(self, jobs: Collection[UUID]) -> dict[UUID, datetime]:
        return dict(Job.objects.scheduled().filter(pk__in=jobs).values_list("pk", "next_run_at"))

    def complete(self) -> bool:
        return True

    def server(self) -> dict[str, str]:
        return {}

    def ping(self) -> None:
        try:
            connection.ensure_connection()
        except DatabaseError as error:
            raise IndexUnavailable(f"The database does not answer: {error}") from error
