"""Puts the poller together from the settings."""

from __future__ import annotations

from django.conf import settings

from execution.processes import make_outbox
from jobs.clock import DatabaseClock
from jobs.policies import MOST_CAUGHT_UP, Allowances
from scheduling.index import get_due_index
from scheduling.index.database import DatabaseDueIndex
from scheduling.index.fallback import FallbackDueIndex
from scheduling.poller import Poller


def make_allowances() -> Allowances:
    return Allowances(
        window=settings.CATCH_UP_WINDOW,
        most=min(settings.CATCH_UP_MAX, MOST_CAUGHT_UP),
        rows=settings.MISFIRE_ROWS,
        look=settings.OVERLAP_LOOK,
    )


def make_poller() -> Poller:
    return Poller(
        FallbackDueIndex(get_due_index(), DatabaseDueIndex()) if settings.REDIS_URL else get_due_index(),
        make_outbox(),
        clock=DatabaseClock(),
        batch=settings.POLL_BATCH,
        lease=settings.POLL_LEASE,
        misfire_grace=settings.MISFIRE_GRACE,
        allowances=make_allowances(),
        overdue_after=settings.OVERDUE_AFTER,
    )
