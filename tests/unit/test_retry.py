"""Whether there is another attempt, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution.retry import GiveUp, GiveUpNow, RetryAt, RetryLater, WorkerLost, backoff
from execution.retry import decide as decide_on
from jobs.limits import Limits, combined

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
LIMITS = Limits(3, 2 * SECOND, 60 * SECOND)


def decide(error: Exception, attempt: int = 1, max_retries: int = 3, spread: float = 1.0):
    limits = combined(Limits(max_retries), LIMITS)
    return decide_on(error, attempt=attempt, limits=limits, now=NOW, spread=spread)


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 2), (2, 4), (3, 8)])
def test_each_retry_waits_twice_as_long(attempt: int, seconds: int) -> None:
    assert decide(RuntimeError(), attempt) == RetryAt(NOW + seconds * SECOND)


def test_after_the_last_retry_there_is_none() -> None:
    assert decide(RuntimeError(), attempt=3, max_retries=3) != GiveUp()
    assert decide(RuntimeError(), attempt=4, max_retries=3) == GiveUp()
    assert decide(RuntimeError(), attempt=1, max_retries=0) == GiveUp()


def test_a_handler_may_give_up_or_name_the_time() -> None:
    assert decide(GiveUpNow("gone")) == GiveUp()
    assert decide(RetryLater("busy", NOW + 90 * SECOND)) == RetryAt(NOW + 90 * SECOND)
    assert decide(RetryLater("busy", NOW - 90 * SECOND)) == RetryAt(NOW)
    assert decide(RetryLater("busy", 90 * SECOND)) == RetryAt(NOW + 90 * SECOND)
    assert decide(RetryLater("busy", -90 * SECOND)) == RetryAt(NOW)
    assert decide(RetryLater("busy", NOW), attempt=4) == GiveUp()


def test_lost_work_is_run_again_at_once_but_not_for_ever() -> None:
    assert decide(WorkerLost()) == RetryAt(NOW)
    assert decide(WorkerLost(), attempt=4) == GiveUp()


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_a_delay_lies_in_the_upper_half_and_under_the_cap(attempt: int, spread: float) -> None:
    full = min(60.0, 2.0 * 2 ** min(attempt - 1, 50))

    assert full / 2 <= backoff(attempt, LIMITS, spread).total_seconds() <= full


def test_a_time_without_its_zone_is_refused_where_it_is_written() -> None:
    with pytest.raises(ValueError, match="zone"):
        RetryLater("busy", datetime(2026, 3, 1))
