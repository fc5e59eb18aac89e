"""What all buckets promise."""

from __future__ import annotations

from datetime import timedelta
from threading import Lock
from uuid import uuid4

import pytest

from accounts.limits import Allowance, Buckets
from tests.engine.system import together

LONG = timedelta(days=20)  # that nothing comes back while a test runs, however slowly


class BucketsContract:
    """Inherit it and give it a `buckets` fixture."""

    buckets: Buckets

    @pytest.fixture(autouse=True)
    def arrange(self, buckets: Buckets) -> None:
        self.buckets = buckets

    def allowance(self, limit: int, period: timedelta = LONG) -> Allowance:
        return Allowance(f"tenant:{uuid4()}", limit, period)

    def admitted(self, *allowances: Allowance) -> bool:
        return all(draw.admitted for draw in self.buckets.take(allowances))

    def test_as_many_as_the_limit_are_admitted(self) -> None:
        three = self.allowance(3)

        assert [self.admitted(three) for _ in range(5)] == [True, True, True, False, False]

    def test_sixteen_threads_at_a_limit_of_twenty_get_exactly_twenty(self) -> None:
        twenty, lock, got = self.allowance(20), Lock(), []

        def take_five() -> None:
            for _ in range(5):
                one = self.admitted(twenty)
                with lock:
                    got.append(one)

        together(take_five, count=16)

        assert len(got) == 80 and sum(got) == 20

    def test_each_draw_says_what_is_left_and_when_there_is_more(self) -> None:
        two = self.allowance(2, timedelta(days=2))

        first, second, third = (self.buckets.take([two])[0] for _ in range(3))

        assert [draw.remaining for draw in (first, second, third)] == [1, 0, 0]
        day = 24 * 3600
        assert day - 3600 < first.full_in_seconds <= day
        assert 2 * day - 3600 < second.full_in_seconds <= 2 * day
        assert day - 3600 < third.retry_after <= day

    def test_what_was_taken_comes_back_with_time(self) -> None:
        quick = self.allowance(1, timedelta(microseconds=1))

        assert self.admitted(quick) and self.admitted(quick)

    def test_allowances_are_apart(self) -> None:
        one, other = self.allowance(1), self.allowance(1)

        assert self.admitted(one) and self.admitted(other)
        assert not self.admitted(one)

    def test_an_empty_one_leaves_those_after_it_alone(self) -> None:
        own, shared = self.allowance(1), self.allowance(10)

        assert self.admitted(own, shared)
        for _ in range(20):
            [refused] = self.buckets.take([own, shared])
            assert not refused.admitted and refused.allowance == own

        assert self.buckets.take([shared])[0].remaining == 8

    def test_the_first_admitted_and_the_second_empty_are_both_told(self) -> None:
        own, shared = self.allowance(10), self.allowance(1)
        self.admitted(shared)

        drawn = self.buckets.take([own, shared])

        assert [(draw.allowance, draw.admitted) for draw in drawn] == [(own, True), (shared, False)]

    def test_a_draw_takes_what_it_costs_and_never_more_than_there_ever_is(self) -> None:
        name = f"tenant:{uuid4()}"
        costly, cheap = Allowance(name, 5, LONG, cost=3), Allowance(name, 5, LONG)

        assert self.buckets.take([costly])[0].remaining == 2
        assert not self.admitted(costly)
        assert self.admitted(cheap)
        assert self.admitted(Allowance(f"tenant:{uuid4()}", 5, LONG, cost=100))
