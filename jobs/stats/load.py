"""How busy the coming day will be, reckoned anew once in a while.

It takes seconds for tens of thousands of jobs, and nobody's page waits for that: with more than a few hundred it is
reckoned in a thread, one at a time, and until it is done what was known before is told.
"""

from __future__ import annotations

import time
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
MOST_JOBS = 20_000  # in one report: some four seconds
AT_ONCE = 200  # jobs that take no longer than a page may
GOOD_FOR = 60.0  # seconds
KEPT = 200  # scopes


class Forecasts:
    """Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
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
        Thread(target=self._reckon_aside, args=(key, scope), name="forecast", daemon=True).start()
        return report

    def forget(self) -> None:
        with self._lock:
            self._known.clear()

    def _reckon(self, key: UUID | None, scope: Tenant | None) -> Report:
        try:
            report = load_report(HOURS, tenant=scope, most=MOST_JOBS)
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
            connections.close_all()
