"""What waited for an outage to end is let go slowly first, then faster."""

from __future__ import annotations

import pytest

from execution.release import Release

RELEASE = Release(start=5, doubling=5, cap=200)


def test_the_pace_grows_until_there_is_nothing_left_to_be_careful_about() -> None:
    each_second = [RELEASE.count(second + 1) - RELEASE.count(second) for second in range(40)]

    assert each_second[0] in (5, 6)
    assert each_second == sorted(each_second) or max(each_second) <= 201
    assert 199 <= each_second[-1] <= 201
    assert 26 < RELEASE.over_after < 27


@pytest.mark.parametrize("number", [0, 1, 7, 100, 1000, 1406, 1407, 5000])
def test_each_place_is_where_the_pace_lets_it_go(number: int) -> None:
    after = RELEASE.place(number)

    assert RELEASE.count(after + 0.001) >= number
    assert RELEASE.count(after - 0.001) <= number + 1


def test_a_thousand_are_gone_within_half_a_minute() -> None:
    assert RELEASE.place(0) == 0
    assert 20 < RELEASE.place(1000) < 30


def test_a_pace_that_begins_at_its_cap_does_not_grow() -> None:
    release = Release(start=10, doubling=5, cap=10)

    assert release.over_after == 0
    assert release.place(100) == pytest.approx(10)
    assert release.count(10) == 101
