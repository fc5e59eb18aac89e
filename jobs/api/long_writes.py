"""Writes of many rows, where the database is SQLite: one after another, each followed by a pause.

SQLite has one lock for all who write, and a process that waits for it looks again every tenth of a second at most. One
bulk call after another would leave the lock free for moments only, and the poller and the executors would wait for
seconds. A lock in this process comes first, so that two such calls leave the same pauses as one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from django.db import connection

MAX_PAUSE = 0.2  # seconds

_one_at_a_time = Lock()


@contextmanager
def long_write() -> Iterator[None]:
    """Around a transaction, not within one: the pause is for others to write."""
    if connection.vendor != "sqlite":
        yield
        return
    with _one_at_a_time:
        begun = time.monotonic()
        try:
            yield
        finally:
            time.sleep(min(time.monotonic() - begun, MAX_PAUSE))
