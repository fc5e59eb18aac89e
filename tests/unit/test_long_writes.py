"""Bulk calls leave SQLite's one lock to others in between."""

from __future__ import annotations

from threading import Thread

import pytest
from django.db import connection

from jobs.api import long_writes
from jobs.api.long_writes import MAX_PAUSE, long_write

pytestmark = pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases lock rows")


def test_a_long_write_is_followed_by_a_pause_as_long_as_itself_at_most(monkeypatch) -> None:
    now, paused = iter([100.0, 100.05, 200.0, 230.0]), []
    monkeypatch.setattr(long_writes.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(long_writes.time, "sleep", paused.append)

    with long_write():
        assert paused == []
    with pytest.raises(RuntimeError), long_write():
        raise RuntimeError

    assert paused == [pytest.approx(0.05), MAX_PAUSE]


def test_long_writes_and_their_pauses_come_one_after_another(monkeypatch) -> None:
    inside, most = [], []

    def pause(seconds: float) -> None:
        most.append(len(inside))
        inside.pop()

    monkeypatch.setattr(long_writes.time, "sleep", pause)

    def write() -> None:
        for _ in range(200):
            with long_write():
                inside.append(1)

    threads = [Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(most) == 800 and set(most) == {1}
