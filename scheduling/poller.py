"""Turns due jobs into executions.

The poller decides *that* a job runs now; it never runs anything itself. Any number of
pollers may share the work: the index leases each due job to one of them, and the derived
execution id catches the rest.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from django.db import InterfaceError, OperationalError

from execution.metrics import count_skipped
from execution.outbox import Outbox
from jobs.clock import Clock
from jobs.ledger import Sent
from jobs.policies import Allowances
from scheduling.due import record_due
from scheduling.index import DueIndex, IndexIncomplete
from scheduling.rebuild import rebuild, restore_overdue

SWEEP_EVERY = timedelta(seconds=1)
SWEEP_WHEN_BUSY = timedelta(seconds=5)  # while the index names more than we can do, looking for more is no help
SHORTEST_REST = timedelta(milliseconds=10)  # whoever is woken for each of many jobs does little else
MARKS_A_PATIENCE = 5  # so that what waits is marked long before the recoverer takes it for unsent


class Poller:
    def __init__(
        self,
        index: DueIndex,
        outbox: Outbox,
        *,
        clock: Clock,
        batch: int,
        lease: timedelta,
        misfire_grace: timedelta,
        allowances: Allowances,
        overdue_after: timedelta,
    ) -> None:
        self.index = index
        self.outbox = outbox
        self.clock = clock
        self.batch = batch
        self.lease = lease
        self.misfire_grace = misfire_grace
        self.allowances = allowances
        self.overdue_after = overdue_after
        self._looked_at: datetime | None = None
        self._swept_at: datetime | None = None
        self._busy = False
        self._sent: deque[tuple[datetime, list[Sent]]] = deque()

    def tick(self) -> int:
        """Dispatch one batch of due jobs; return how many were leased.

        The order matters. Lease, so that no rival does the same work. Record, so that the truth
        knows. Settle only then: a poller that dies before leaves a lease, which runs out. Publish
        last: an execution whose message was never sent still carries its `wake_at`.
        """
        now = self._looked_at = self.clock.now()
        self._sweep(now)
        self._mark(now - self.outbox.publish_patience / MARKS_A_PATIENCE)
        leased = self._lease(now)
        self._busy = len(leased) == self.batch
        if not leased:
            return 0
        recorded = record_due(
            leased,
            now=now,
            misfire_grace=self.misfire_grace,
            publish_patience=self.outbox.publish_patience,
            allowances=self.allowances,
            carried=self.outbox.broker.carries,
        )
        self.index.settle(recorded.next_due)
        count_skipped(skip.job.task for skip in recorded.skips)
        self._sent.append((now, self.outbox.publish(recorded.executions)))
        return len(leased)

    def rest(self, longest: timedelta) -> timedelta:
        """How long there is nothing to do after a round that found nothing: until a job is due, but not for long.

        A job may be put before all others at any moment, and nobody tells us.
        """
        due_at = self.index.next_due(after=self._looked_at or self.clock.now())
        return longest if due_at is None else min(longest, max(SHORTEST_REST, due_at - self.clock.now()))

    def stop(self) -> None:
        """Mark what was sent. While the database is away it stays unmarked, and the recoverer sends it once more."""
        with suppress(OperationalError, InterfaceError):
            self._mark(datetime.max.replace(tzinfo=UTC))

    def _mark(self, sent_before: datetime) -> None:
        """Most of what was sent is claimed within moments, which says more than a mark. Only what waits is marked."""
        waiting: list[Sent] = []
        while self._sent and self._sent[0][0] < sent_before:
            waiting += self._sent.popleft()[1]
        self.outbox.mark(waiting)

    def _lease(self, now: datetime) -> list[UUID]:
        claim = partial(self.index.lease, now=now, until=now + self.lease, limit=self.batch)
        try:
            return claim()
        except IndexIncomplete:
            rebuild(self.index)
            return claim()

    def _sweep(self, now: datetime) -> None:
        """Now and then, put back what the index should have named already."""
        pause = SWEEP_WHEN_BUSY if self._busy else SWEEP_EVERY
        if self._swept_at is None or now >= self._swept_at + pause:
            self._swept_at = now
            restore_overdue(self.index, due_before=now - self.overdue_after, limit=self.batch)
