"""How busy the coming day will be, reckoned anew once in a while.

It takes seconds for tens of thousands of jobs, and nobody's page waits for that: with more than a few hundred it is
computed in a thread, one report at a time for all tenants. Until it is done, the previous report is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, Thread
from uuid import UUID

import structlog
from django.db import connections

from accounts.models import Tenant
from jobs.models import Job
from scheduling.load import Report
from scheduling.load.reading import load_report

logger = structlog.get_logger(__name__)

HOURS = 24
MAX_JOBS = 20_000  # in one report
MAX_STEPS = 2_000_000  # starts counted in one report: one or two seconds, whatever the schedules are
MAX_NEW = 2_000  # schedules in one report that no report of this process has read before: a second at most
AT_ONCE = 200  # jobs that take no longer than a page may
GOOD_FOR = 60.0  # seconds
GOOD_FACTOR = 30  # times what a report took, but no longer than that: it is good for so long
REST_FACTOR = 10  # times what a report took: so long no other of the same scope is made
UNNOTICED = 0.1  # seconds: what took less is made whenever somebody asks
SHORTLY = 1.0  # second
PATIENCE = 2.0  # seconds that a request waits for a report which another one makes: it has one of few threads
KEPT = 200  # scopes


class TooSoon(Exception):
    """Another report of the same tenant is being made, or was a moment ago."""

    def __init__(self, again_in: float) -> None:
        super().__init__("Another forecast was requested for this tenant a moment ago. Try again shortly.")
        self.again_in = again_in


@dataclass
class Reckoned:
    """What is known of a scope."""

    reports: dict[int, tuple[Report, float]] = field(default_factory=dict)  # by hours, with how long each is good
    rests_until: float = 0.0
    busy_with: int | None = None  # hours
    lock: Lock = field(default_factory=Lock)


class Reports:
    """Reports that somebody waits for: shared by all who ask for the same, and remembered.

    How long one is good for, and how soon another for the same scope may follow, grows with what it took. So a report
    of few jobs is always fresh, and no tenant can keep a processor busy. Safe to share between threads.
    """

    def __init__(self, make: Callable[..., Report] = load_report, clock: Callable[[], float] = time.monotonic) -> None:
        self._make, self._clock = make, clock
        self._guard = Lock()
        self._one_at_a_time = Lock()
        self._known: dict[UUID | None, Reckoned] = {}

    def of(self, scope: Tenant | None, hours: int, *, at_once: bool = False) -> Report:
        """The coming hours. Raises TooSoon, unless `at_once`: for those who run the system."""
        with self._guard:
            if len(self._known) > KEPT:
                self._known = {key: one for key, one in self._known.items() if one.busy_with is not None}
            known = self._known.setdefault(scope.pk if scope else None, Reckoned())
            if report := self._fresh(known, hours):
                return report
            if not at_once and known.busy_with not in (None, hours):
                raise TooSoon(SHORTLY)
            known.busy_with = hours
        with _taken(known.lock, at_once):  # of many who ask for the same, one reckons
            try:
                return self._fresh(known, hours) or self._reckon(known, scope, hours, at_once)
            finally:
                known.busy_with = None

    def forget(self) -> None:
        with self._guard:
            self._known.clear()

    def _fresh(self, known: Reckoned, hours: int) -> Report | None:
        report, good_until = known.reports.get(hours, (None, 0.0))
        return report if self._clock() < good_until else None

    def _reckon(self, known: Reckoned, scope: Tenant | None, hours: int, at_once: bool) -> Report:
        begun = self._clock()
        if not at_once and begun < known.rests_until:
            raise TooSoon(known.rests_until - begun)
        with _taken(self._one_at_a_time, at_once):
            begun = self._clock()
            report = self._make(hours, tenant=scope, most=MAX_JOBS, steps=MAX_STEPS, max_new=MAX_NEW)
        ended = self._clock()
        took = ended - begun
        known.reports = {key: one for key, one in known.reports.items() if ended < one[1]}
        known.reports[hours] = report, ended + min(GOOD_FOR, GOOD_FACTOR * took)
        known.rests_until = ended + (REST_FACTOR * took if took > UNNOTICED else 0.0)
        return report


@contextmanager
def _taken(lock: Lock, at_once: bool) -> Iterator[None]:
    """Hold the lock. Raises TooSoon where others hold it for long, unless `at_once`."""
    if not lock.acquire(timeout=-1 if at_once else PATIENCE):
        raise TooSoon(SHORTLY)
    try:
        yield
    finally:
        lock.release()


class Forecasts:
    """Of many scopes that take long, one is reckoned at a time. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._one_aside = Lock()
        self._busy: set[UUID | None] = set()
        self._known: dict[UUID | None, tuple[Report, float]] = {}

    def of(self, scope: Tenant | None) -> Report | None:
        """The coming day; None while it is reckoned for the first time."""
        key = scope.pk if scope else None
        with self._lock:
            report, good_until = self._known.get(key, (None, 0.0))
            if time.monotonic() < good_until or key in self._busy:
                return report
            self._busy.add(key)
        jobs = Job.objects.scheduled() if scope is None else Job.objects.scheduled().for_tenant(scope)
        if jobs[: AT_ONCE + 1].count() <= AT_ONCE:
            return self._reckon(key, scope)
        if self._one_aside.acquire(blocking=False):
            Thread(target=self._reckon_aside, args=(key, scope), name="forecast", daemon=True).start()
        else:  # that of another scope is being made; this one follows when somebody looks again
            with self._lock:
                self._busy.discard(key)
        return report

    def forget(self) -> None:
        with self._lock:
            self._known.clear()

    def _reckon(self, key: UUID | None, scope: Tenant | None) -> Report:
        try:
            report = load_report(HOURS, tenant=scope, most=MAX_JOBS, steps=MAX_STEPS, max_new=MAX_NEW)
            with self._lock:
                if len(self._known) >= KEPT:
                    self._known.clear()
                self._known[key] = report, time.monotonic() + GOOD_FOR
            return report
        finally:
            with self._lock:
                self._busy.discard(key)

    def _reckon_aside(self, key: UUID | None, scope: Tenant | None) -> None:
        try:
            self._reckon(key, scope)
        except Exception as error:
            logger.warning("forecast.failed", error=str(error), remedy="tried again at the next look")
        finally:
            self._one_aside.release()
            connections.close_all()


reports = Reports()
