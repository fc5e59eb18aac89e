"""What large requests leave behind is collected soon, and small ones cost nothing."""

from __future__ import annotations

import gc
import weakref

import pytest

from scheduler_project.memory import LARGE, Sweeper


class Left:
    """As REST framework leaves a request: it refers to itself."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def by_nobody_else():
    gc.disable()
    yield
    gc.enable()


def test_what_large_requests_leave_behind_is_never_more_than_the_bound() -> None:
    sweeper, left = Sweeper(every=10 * LARGE), []
    most = 0
    for _ in range(100):
        left.append(weakref.ref(Left()))
        sweeper.passed(LARGE)
        most = max(most, sum(one() is not None for one in left))

    assert most < 10 and sweeper.sweeps == 10


def test_small_requests_are_left_to_the_collector() -> None:
    sweeper = Sweeper(every=LARGE)
    for _ in range(1000):
        sweeper.passed(LARGE - 1)

    assert sweeper.sweeps == 0
