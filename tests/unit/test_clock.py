"""The time is the database's, and it can always be told."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

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


def test_a_clock_that_was_told_nothing_yet_lets_nobody_decide_by_this_machines_time(database) -> None:
    database.away = True
    it = DatabaseClock()
    for _ in range(2):
        with pytest.raises(OperationalError):
            it.now()

    database.away = False

    assert abs(it.now() - timezone.now() - HOUR) < MOMENT


def test_an_outcome_is_put_to_this_machines_time_where_no_other_was_told_yet(database) -> None:
    database.away = True
    it = DatabaseClock(or_own=True)
    assert abs(it.now() - timezone.now()) < MOMENT

    database.away = False

    assert abs(it.now() - timezone.now() - HOUR) < MOMENT


# Who reads this machine's clock, and why nothing is decided by what it shows.
READERS = {
    "execution/handlers/http_request.py": "when a request is signed, and how far a date in Retry-After is away",
    "execution/mailbox.py": "the name of a file",
    "execution/processes.py": "how old uploads are, by the clock that dated them",
    "execution/retry.py": "nothing: a message names it",
    "execution/run.py": "the deadline that a handler is told, by the clock it has",
    "execution/storage/s3.py": "when a request to the storage is signed",
    "execution/uploads.py": "when a file was used last, to the day",
    "jobs/api/worker_keys.py": "whether a new key would have expired already",
    "jobs/clock.py": "SQLite's time, and what an outcome is put to while no other time is known",
    "jobs/dashboard/keys.py": "when a key expires, in days",
    "jobs/django_tasks.py": "what django.tasks is told",
    "jobs/ids.py": "the order in which jobs are listed",
    "jobs/models/job.py": "when a row was changed, for people",
}
READS = re.compile(r"timezone\.now\(\)|datetime\.(now|utcnow|today)\(|time\.time(_ns)?\(|date\.today\(")


def test_nobody_else_reads_this_machines_clock() -> None:
    root = Path(__file__).parents[2]
    sources = [path for app in ("execution", "jobs", "scheduling") for path in (root / app).rglob("*.py")]
    reading = {str(path.relative_to(root)) for path in sources if READS.search(path.read_text())}

    assert reading == set(READERS)
