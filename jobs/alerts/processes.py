"""Puts watcher and courier together from the settings."""

from __future__ import annotations

from django.conf import settings

from execution.defaults import default_limits
from execution.registry import registry
from jobs.alerts.courier import Courier
from jobs.alerts.delivery import deliver
from jobs.alerts.pinging import Ping
from jobs.alerts.watcher import Patience, Watcher
from jobs.clock import DatabaseClock


def make_watcher() -> Watcher:
    return Watcher(
        registry,
        clock=DatabaseClock(),
        patience=Patience(settings.MISSED_AFTER, settings.LATE_AFTER, settings.ABSENT_AFTER, settings.STALLED_AFTER),
        ping=Ping(settings.WATCHER_PING_URL, settings.WATCHER_PING_EVERY),
    )


def make_courier() -> Courier:
    limits = default_limits()._replace(max_retries=settings.NOTICE_RETRIES)
    return Courier(deliver, clock=DatabaseClock(), limits=limits)
