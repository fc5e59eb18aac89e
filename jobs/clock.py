"""What time it is, by the one clock all processes share: the database's.

A poller or executor whose own clock is an hour off would fire early and steal leases. So the
database is asked, once in a while, and the time since is counted by a clock nobody can set.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from threading import Lock
from typing import Protocol

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

ASK_AGAIN_AFTER = 10.0  # seconds: quartz drifts a few microseconds in that time
AFTER_A_FAILURE = 5.0  # seconds: each try may wait for the pool, and all who ask wait with it


class Clock(Protocol):
    """Whatever tells the time; tests bring their own."""

    def now(self) -> datetime: ...


class DatabaseClock:
    """Tells the database's time. Safe to share between threads.

    While the database is away it counts on from what it was told before. Where it was told nothing yet it fails with
    the database's own error: nobody may decide what is due, or whose lease is over, by this machine's clock. With
    `or_own` it tells this machine's time instead, for those who have an outcome to put a time to and no other way.
    """

    def __init__(self, *, or_own: bool = False) -> None:
        self._lock = Lock()
        # What it is ahead of the clock that nobody can set, in seconds. One number, so that it is read in one step.
        self._ahead = time.time() - time.monotonic() if or_own else None
        self._ask_at = 0.0

    def now(self) -> datetime:
        since = time.monotonic()
        if since >= self._ask_at:
            with self._lock:
                if time.monotonic() >= self._ask_at:
                    self._ask()
            since = time.monotonic()
        assert self._ahead is not None, "whoever could not be told has failed above"
        return datetime.fromtimestamp(since + self._ahead, UTC)

    def _ask(self) -> None:
        try:
            told, at = database_now(), time.monotonic()
            self._ahead = told.timestamp() - at
            self._ask_at = at + ASK_AGAIN_AFTER
        except (OperationalError, InterfaceError):
            if self._ahead is None:
                raise
            self._ask_at = time.monotonic() + AFTER_A_FAILURE


def database_now() -> datetime:
    """The database's own time; with SQLite, that is this machine's."""
    if connection.vendor == "sqlite":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
