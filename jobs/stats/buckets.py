"""What became of the executions that were due in each stretch of time.

An execution's id begins with its due time, so a bucket is a range of ids: it is read by index, however long the
history. A bucket that is over and whose executions are all finished changes no more and is read once; the present
one is read each time.

Of a bucket with thousands, a few hundred are read from both of its ends, and what they show is scaled to how many there
are. Those are counted up to a bound, and reckoned beyond it. Such a bucket calls itself estimated.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from uuid import UUID

from accounts.models import Tenant
from jobs.ids import lowest_id, time_of
from jobs.models import Execution
from jobs.models.execution import ExecutionQuerySet
from jobs.states import UNFINISHED, Status
from jobs.stats.spans import Span

MOST_READ = 500  # executions of a bucket, whose rows are looked at
MOST_COUNTED = 10_000  # executions of a bucket, by their index entries: some milliseconds
LEAST_SHARE = 0.1  # of a bucket must have been counted to reckon the rest from that: a burst tells nothing of it
SETTLES = timedelta(seconds=2)  # after its end nothing is added to a bucket; a poller that is late may be the exception
LOOKS_AGAIN = 10.0  # seconds until a bucket of the past that is not finished is read again
KEPT = 20_000  # buckets: a day of two hundred tenants

READ = ("id", "status", "attempt", "due_at", "started_at", "finished_at")


@dataclass(frozen=True, slots=True)
class Bucket:
    start: datetime
    counts: dict[Status, int] = field(default_factory=dict)
    estimated: bool = False
    lateness: Sequence[float] = ()  # seconds from due time to start, of those that started at the first attempt
    durations: Sequence[float] = ()  # seconds of the completed ones' last attempt

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def count(self, *statuses: Status) -> int:
        return sum(self.counts.get(status, 0) for status in statuses)

    @property
    def settled(self) -> bool:
        return self.count(*UNFINISHED) == 0


Key = tuple[UUID | None, timedelta, datetime]


class Buckets:
    """Reads buckets, and remembers those that are over. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[Key, tuple[Bucket, float]] = OrderedDict()

    def of(self, scope: Tenant | None, span: Span, now: datetime) -> list[Bucket]:
        return [self._get(scope, start, span.width, now) for start in span.starts(now)]

    def _get(self, scope: Tenant | None, start: datetime, width: timedelta, now: datetime) -> Bucket:
        key = (scope.pk if scope else None, width, start)
        over = start + width + SETTLES <= now
        with self._lock:
            known = self._known.get(key)
        if over and known is not None:
            bucket, read_at = known
            if time.monotonic() - read_at < LOOKS_AGAIN or bucket.settled:
                return bucket
        bucket = read_bucket(scope, start, width)
        if over:
            with self._lock:
                self._known[key] = bucket, time.monotonic()
                self._known.move_to_end(key)
                while len(self._known) > KEPT:
                    self._known.popitem(last=False)
        return bucket


def read_bucket(scope: Tenant | None, start: datetime, width: timedelta) -> Bucket:
    end = start + width
    rows = within(scope).filter(id__gte=lowest_id(start), id__lt=lowest_id(end))
    looked_at = list(rows.order_by("id").values_list(*READ)[: MOST_READ + 1])
    if len(looked_at) <= MOST_READ:
        return _bucket(start, looked_at, len(looked_at))
    half = MOST_READ // 2
    looked_at[half:] = rows.order_by("-id").values_list(*READ)[:half]
    return _bucket(start, looked_at, _about(rows, start, width))


def _about(rows: ExecutionQuerySet, start: datetime, width: timedelta) -> int:
    """How many executions a bucket has, about."""
    counted = rows.order_by("id")[:MOST_COUNTED].count()
    if counted < MOST_COUNTED:
        return counted
    last = rows.order_by("id").values_list("id", flat=True)[MOST_COUNTED - 1]
    share = (time_of(last) - start) / width
    return round(counted / share) if share >= LEAST_SHARE else counted


def within(scope: Tenant | None) -> ExecutionQuerySet:
    """The executions of a scope."""
    return Execution.objects.all() if scope is None else Execution.objects.for_tenant(scope)


def _bucket(start: datetime, rows: Sequence[tuple], total: int) -> Bucket:
    found = Counter(status for _, status, *_ in rows)
    scale = total / len(rows) if rows else 1
    lateness, durations = [], []
    for _, status, attempt, due, started, finished in rows:
        if started and attempt == 1:
            lateness.append(max(0.0, (started - due).total_seconds()))
        if status == Status.COMPLETED and started and finished:
            durations.append(max(0.0, (finished - started).total_seconds()))
    counts = {Status(status): max(1, round(count * scale)) for status, count in found.items()}
    return Bucket(start, counts, total > len(rows), tuple(lateness), tuple(durations))
