"""Runs put together day by day are those that the schedule itself finds, one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.load.days import runs_between
from scheduling.recurrence import Cron, OnGap, OnRepeat
from tests.schedules import ZONES, crons, instants


def one_by_one(cron: Cron, after: datetime, until: datetime) -> list[datetime]:
    runs = []
    run = cron.next_after(after)
    while run is not None and run < until:
        runs.append(run)
        run = cron.next_after(run)
    return runs


@settings(max_examples=40, deadline=None)
@given(crons(), instants, st.integers(1, 30))
def test_any_window_of_any_schedule_has_the_runs_that_the_schedule_finds(cron, start, hours) -> None:
    until = start + timedelta(hours=hours)

    assert list(runs_between(cron, start, until)) == one_by_one(cron, start, until)


CHANGES = {
    "Europe/Paris": [datetime(2027, 3, 28, 1), datetime(2027, 10, 31, 1)],
    "America/Havana": [datetime(2027, 3, 14, 5), datetime(2027, 11, 7, 5)],  # at midnight, and back to it
    "Australia/Lord_Howe": [datetime(2027, 4, 3, 15), datetime(2027, 10, 2, 15, 30)],
    "Pacific/Apia": [datetime(2011, 12, 30, 10)],  # a whole day
}


@pytest.mark.parametrize("zone", CHANGES)
@pytest.mark.parametrize("expression", ["*/20 * * * *", "30 2 * * *", "0-59/20 0-23 * * *", "0 0 * * *", "59 23 L * *"])
@pytest.mark.parametrize("choices", [{}, {"on_gap": OnGap.SKIP, "on_repeat": OnRepeat.SKIP}])
def test_nothing_is_lost_or_doubled_when_clocks_change(zone, expression, choices) -> None:
    if expression.startswith("*"):
        choices = {}
    cron = Cron(expression, zone, **choices)
    for change in CHANGES[zone]:
        for hours in (-73, -25, -1, 0, 24, 49):
            start = change.replace(tzinfo=UTC) + timedelta(hours=hours)
            until = start + timedelta(days=3)

            assert list(runs_between(cron, start, until)) == one_by_one(cron, start, until), start


def test_every_zone_is_one_that_the_schedules_use() -> None:
    assert set(CHANGES) <= set(ZONES)
