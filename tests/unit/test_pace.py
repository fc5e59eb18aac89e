"""Fast executions go together, slow ones alone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError

from execution import pace as module
from execution.models import TaskPace
from execution.pace import Pace

pytestmark = pytest.mark.django_db


@pytest.fixture
def pace(monkeypatch) -> Pace:
    monkeypatch.setattr(module, "EXCHANGE_EVERY", 0.0)
    return Pace(most=100, span=timedelta(milliseconds=20))


@pytest.mark.parametrize(("seconds", "together"), [(0, 100), (0.000_02, 100), (0.001, 20), (0.015, 1), (60, 1)])
def test_as_many_go_together_as_run_within_a_moment(pace, seconds, together) -> None:
    pace.note([("a", seconds)])
    pace.exchange()

    assert pace.bundle("a") == together


def test_what_nobody_has_run_yet_goes_alone(pace) -> None:
    assert pace.bundle("a") == 1


def test_what_one_process_finds_the_others_know(pace) -> None:
    pace.note([("a", 0.001), ("a", 0.003)])
    pace.exchange()
    other = Pace(most=100, span=timedelta(milliseconds=20))

    other.exchange()

    assert other.bundle("a") == 10


def test_a_task_that_becomes_slow_soon_goes_alone(pace) -> None:
    pace.note([("a", 0.0001)])
    pace.exchange()

    pace.note([("a", 1.0)])
    pace.exchange()

    assert pace.bundle("a") == 1


def test_a_database_that_is_away_changes_nothing(pace, monkeypatch) -> None:
    pace.note([("a", 0.001)])
    pace.exchange()

    def away(*_):
        raise OperationalError("gone")

    monkeypatch.setattr(TaskPace.objects.all().__class__, "write", away)
    pace.note([("a", 5.0)])
    pace.exchange()

    assert pace.bundle("a") == 20
