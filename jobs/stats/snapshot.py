"""All the numbers of one moment, read once a second for all who look at them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from threading import Lock
from uuid import UUID

from django.conf import settings

from accounts.models import Tenant
from jobs.clock import DatabaseClock
from jobs.ids import time_of
from jobs.models import Execution, Incident, Job
from jobs.states import Status
from jobs.stats.buckets import Bucket, Buckets, within
from jobs.stats.failures import Failure, count_dead, latest_failures
from jobs.stats.incidents import open_incidents
from jobs.stats.load import Forecasts, reports
from jobs.stats.percentiles import Percentiles, percentiles
from jobs.stats.spans import FIVE_MINUTES, HOUR, Span
from jobs.stats.unfinished import Look, Unfinished, running_now
from jobs.stats.upcoming import next_runs
from jobs.stats.workers import Worker, workers
from scheduling.load import Report

NEW = timedelta(minutes=30)  # who has run nothing earlier than this looks at minutes, not at hours
KEPT = 500  # snapshots


@dataclass(frozen=True, slots=True)
class Snapshot:
    at: datetime
    scope: Tenant | None
    span: Span
    unfinished: Unfinished
    buckets: list[Bucket]  # of the span
    failed_last_hour: int
    completed_last_hour: int
    estimated: bool  # whether those two are
    dead: int
    dead_more: bool  # than were counted
    lateness: Percentiles | None  # over the span
    duration: Percentiles | None
    workers: list[Worker]
    running: list[Execution]
    next_runs: list[Job]
    failures: list[Failure]
    incidents: list[Incident]  # that are open, and not the jobs' own failures
    load: Report | None  # of the coming day; None while it is being reckoned
    has_jobs: bool


class Snapshots:
    """One for each scope, span and second. Safe to share between threads."""

    def __init__(self) -> None:
        self._clock = DatabaseClock()
        self._buckets = Buckets()
        self._forecasts = Forecasts()
        self._guard = Lock()
        self._locks: dict[tuple[UUID | None, str], Lock] = {}
        self._known: dict[tuple[UUID | None, str], tuple[float, Snapshot]] = {}
        self._look: tuple[float, Look] | None = None
        self._old: set[UUID | None] = set()

    def of(self, scope: Tenant | None, span: Span) -> Snapshot:
        key = (scope.pk if scope else None, span.key)
        with self._guard:
            if len(self._locks) > KEPT:
                self._locks.clear()
                self._known.clear()
            lock = self._locks.setdefault(key, Lock())
        with lock:  # of many who look at once, one reads
            read_at, known = self._known.get(key, (0.0, None))
            if known is not None and _fresh(read_at):
                return known
            snapshot = self._read(scope, span)
            self._known[key] = time.monotonic(), snapshot
            return snapshot

    def usual_span(self, scope: Tenant | None) -> Span:
        """What somebody sees who chose nothing: the last minutes while there is nothing older, then the last hour."""
        key = scope.pk if scope else None
        if key in self._old:
            return HOUR
        first = within(scope).order_by("id").values_list("id", flat=True).first()
        if first is None or self._clock.now() - time_of(first) < NEW:
            return FIVE_MINUTES
        self._old.add(key)
        return HOUR

    def forget(self) -> None:
        """Read everything anew at the next look."""
        self._known.clear()
        self._look = None
        self._forecasts.forget()
        reports.forget()

    def _read(self, scope: Tenant | None, span: Span) -> Snapshot:
        now = self._clock.now()
        unfinished = self._unfinished().of(scope)
        buckets = self._buckets.of(scope, span, now)
        hour = buckets if span is HOUR else self._buckets.of(scope, HOUR, now)
        dead, dead_more = count_dead(scope)
        jobs = Job.objects.kept() if scope is None else Job.objects.kept().for_tenant(scope)
        return Snapshot(
            at=now,
            scope=scope,
            span=span,
            unfinished=unfinished,
            buckets=buckets,
            failed_last_hour=sum(bucket.count(Status.FAILED) for bucket in hour),
            completed_last_hour=sum(bucket.count(Status.COMPLETED) for bucket in hour),
            estimated=any(bucket.estimated for bucket in hour),
            dead=dead,
            dead_more=dead_more,
            lateness=percentiles(list(chain.from_iterable(bucket.lateness for bucket in buckets))),
            duration=percentiles(list(chain.from_iterable(bucket.durations for bucket in buckets))),
            workers=workers(unfinished.held, now, everybody=scope is None),
            running=running_now(scope),
            next_runs=next_runs(scope),
            failures=latest_failures(scope),
            incidents=open_incidents(scope),
            load=self._forecasts.of(scope),
            has_jobs=jobs.order_by("-id").values_list("pk").first() is not None,  # `exists` need not go by the index
        )

    def _unfinished(self) -> Look:
        """The one look that all scopes share."""
        known = self._look
        if known is None or not _fresh(known[0]):
            known = self._look = (time.monotonic(), Look())
        return known[1]


def _fresh(read_at: float) -> bool:
    return time.monotonic() - read_at < settings.SNAPSHOT_AGE.total_seconds()


snapshots = Snapshots()
