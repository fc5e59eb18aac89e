"""What time it is, by the one clock all processes share: the database's.

A poller or executor whose own clock is an hour off would fire early and steal leases. So the
database is asked, once in a while, and the time since is counted by a clock nobody can set.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from threading import Lock
from typing import Protocol

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

ASK_AGAIN_AFTER = 10.0  # seconds: quartz drifts a few microseconds in that time


class Clock(Protocol):
    """Whatever tells the time; tests bring their own."""

    def now(self) -> datetime: ...


class DatabaseClock:
    """Tells the database's time. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked = float("-inf")
        self._answer = timezone.now()

    def now(self) -> datetime:
        with self._lock:
            if time.monotonic() - self._asked >= ASK_AGAIN_AFTER:
                self._ask()
            return self._answer + timedelta(seconds=time.monotonic() - self._asked)

    def _ask(self) -> None:
        try:
            answer = database_now()
        except (OperationalError, InterfaceError):
            if self._asked == float("-inf"):
                raise
            # A database that is away takes nothing from what it told us before; asked again in a while.
            answer = self._answer + timedelta(seconds=time.monotonic() - self._asked)
        self._answer, self._asked = answer, time.monotonic()


def database_now() -> datetime:
    """The database's own time; with SQLite, that is this machine's."""
    if connection.vendor == "sqlite":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
