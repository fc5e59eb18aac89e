"""The time is the database's, and it can always be told."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from jobs import clock
from jobs.clock import DatabaseClock

HOUR = timedelta(hours=1)
MOMENT = timedelta(seconds=5)


class Database:
    """Its clock is an hour ahead of this machine's."""

    away = False

    def now(self):
        if self.away:
            raise OperationalError("gone")
        return timezone.now() + HOUR


@pytest.fixture
def database(monkeypatch) -> Database:
    database = Database()
    monkeypatch.setattr(clock, "database_now", database.now)
    monkeypatch.setattr(clock, "ASK_AGAIN_AFTER", 0.0)
    monkeypatch.setattr(clock, "AFTER_A_FAILURE", 0.0)
    return database


def test_the_databases_time_is_told_not_this_machines(database) -> None:
    assert abs(DatabaseClock().now() - timezone.now() - HOUR) < MOMENT


def test_a_database_that_is_away_takes_nothing_from_what_it_told_before(database) -> None:
    it = DatabaseClock()
    before = it.now()

    database.away = True

    assert before <= it.now() < before + MOMENT


def test_a_clock_that_was_told_nothing_yet_tells_this_machines_time_until_it_is(database) -> None:
    database.away = True
    it = DatabaseClock()
    assert abs(it.now() - timezone.now()) < MOMENT

    database.away = False

    assert abs(it.now() - timezone.now() - HOUR) < MOMENT
