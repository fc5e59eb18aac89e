"""The broker where there is no RabbitMQ: the executions themselves are the queue.

Publishing has nothing to do, because what is recorded is already where executors look.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from django.db import OperationalError, connection, transaction

from execution.broker.base import Broker, BrokerUnavailable, Bundle, Inbox, Message, alone
from execution.pace import batched
from jobs.clock import Clock, DatabaseClock
from jobs.models import Execution

LOOK_AGAIN = 0.05  # seconds between looks at an empty queue: the most this adds to a lone job


class DatabaseBroker(Broker):
    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or DatabaseClock()

    def carries(self, task: str) -> bool:
        return False

    def publish(self, messages: Sequence[Message]) -> list[Message]:
        return list(messages)

    def subscribe(self, tasks: Collection[str], *, prefetch: int, bundle: Bundle = alone) -> Inbox:
        return DatabaseInbox(list(tasks), self.clock, bundle)

    def bury(self, messages: Sequence[Message]) -> list[Message]:
        return list(messages)

    def unbury(self, executions: Collection[UUID]) -> int:
        """Nothing to remove, so always 0: a row that is no longer dead has left the dead letters with that."""
        return 0

    def buried(self, limit: int) -> list[UUID]:
        return list(Execution.objects.dead().order_by("pk").values_list("pk", flat=True)[:limit])

    def depth(self, task: str) -> int:
        return Execution.objects.ready(self.clock.now(), [task]).count()

    def dead_letters(self) -> int:
        return Execution.objects.dead().count()

    def mismatches(self, tasks: Collection[str]) -> list[str]:
        return []

    def version(self) -> str:
        return ""

    def alarm(self) -> str:
        return ""

    def ping(self) -> None:
        try:
            connection.ensure_connection()
        except OperationalError as error:
            raise BrokerUnavailable(f"The database does not answer: {error}") from error

    def close(self) -> None:
        pass


class DatabaseInbox(Inbox):
    """Looks for ready rows, and holds their locks while the caller claims them."""

    chooses = True

    def __init__(self, tasks: list[str], clock: Clock, bundle: Bundle) -> None:
        self.tasks = tasks
        self.clock = clock
        self.bundle = bundle
        self._more = False  # whether the last look found something: then there is probably more

    @contextmanager
    def take(self, limit: int, *, wait: timedelta, but_not: Collection[UUID] = ()) -> Iterator[list[UUID]]:
        # The claim commits with the transaction; until then rivals skip the rows.
        if self._more:
            with transaction.atomic():
                if offered := self._look(limit, but_not):
                    yield offered
                    return
        self._await_work(wait, but_not)
        with transaction.atomic():
            offered = self._look(limit, but_not)
            # SQLite has one lock for all, and a look that finds nothing should not have held it.
            self._more = bool(offered) and connection.features.has_select_for_update_skip_locked
            yield offered

    def _look(self, limit: int, but_not: Collection[UUID]) -> list[UUID]:
        """Lock what waits and return it, most urgent first."""
        now = self.clock.now()
        # A look for each task, because the index can serve one in order, but not several.
        found = sorted(bundle for task in self.tasks for bundle in self._ready(task, now, limit, but_not))
        offered: list[UUID] = []
        for *_, bundle in found:
            if len(offered) < limit:
                offered += bundle
        return offered

    def _ready(
        self, task: str, now: datetime, limit: int, but_not: Collection[UUID]
    ) -> Iterator[tuple[int, datetime, tuple[UUID, ...]]]:
        """What waits, in bundles of one priority, each with what orders it among the others."""
        size = self.bundle(task)
        ready = Execution.objects.ready(now, [task], but_not).select_for_update(skip_locked=True, no_key=True)
        rows = list(ready.values_list("priority", "not_before", "pk")[: max(limit, size)])
        for priority, alike in groupby(rows, key=itemgetter(0)):
            for bundle in batched(list(alike), size):
                yield -priority, bundle[0][1], tuple(pk for *_, pk in bundle)

    def rest(self) -> None:
        """Nothing to do: between two `take`s nothing is held."""

    def _await_work(self, wait: timedelta, but_not: Collection[UUID]) -> None:
        """Look without a lock: with SQLite even an idle look would keep writers out."""
        deadline = time.monotonic() + wait.total_seconds()
        while not Execution.objects.ready(self.clock.now(), self.tasks, but_not).exists():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(LOOK_AGAIN, left))

    def close(self) -> None:
        pass
