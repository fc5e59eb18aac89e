"""`H` in a cron expression: a value picked for each job, and kept."""

import json
import pickle
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.recurrence import Bounded, Cron, Jittered, depends_on_seed, parse_schedule
from scheduling.recurrence.expressions import compile_expression
from scheduling.recurrence.fields import FIELDS
from scheduling.recurrence.spreading import resolve

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
JOBS = [f"job {number}" for number in range(2000)]


def numbers(expression: str, place: int, seed: str) -> list[int]:
    """Return the values that one field of the expression gets for one job."""
    return sorted(FIELDS[place].read(resolve(expression, seed).split()[place]).numbers)


@pytest.mark.parametrize(
    ("expression", "place", "values"),
    [
        ("H * * * *", 0, range(60)),
        ("0 H * * *", 1, range(24)),
        ("0 0 H * *", 2, range(1, 29)),
        ("0 0 1 H *", 3, range(1, 13)),
        ("0 0 * * H", 4, range(7)),
        ("H(10-19) * * * *", 0, range(10, 20)),
        ("0 h(0-5) * * *", 1, range(6)),
        ("0 0 H(1-7) * *", 2, range(1, 8)),
        ("0 0 * H(jan-mar) *", 3, range(1, 4)),
        ("0 0 * * H(MON-FRI)", 4, range(1, 6)),
        ("0 0 * * H(5-7)", 4, {5, 6, 0}),
    ],
)
def test_a_single_value_is_picked_from_all_that_are_allowed(expression: str, place: int, values: range) -> None:
    picked = [numbers(expression, place, seed) for seed in JOBS]

    assert {len(one) for one in picked} == {1}
    assert {one[0] for one in picked} == set(values)


def test_jobs_are_spread_evenly() -> None:
    picked = [numbers("H * * * *", 0, seed)[0] for seed in JOBS]

    in_each_minute = [picked.count(minute) for minute in range(60)]
    assert min(in_each_minute) > 15  # 33 on average; the picks are fixed, so this is no matter of luck
    assert max(in_each_minute) < 60


@pytest.mark.parametrize(
    ("expression", "place", "low", "high", "step"),
    [
        ("H/15 * * * *", 0, 0, 59, 15),
        ("H/7 * * * *", 0, 0, 59, 7),
        ("H(0-29)/10 * * * *", 0, 0, 29, 10),
        ("0 H/6 * * *", 1, 0, 23, 6),
        ("0 H(9-17)/3 * * *", 1, 9, 17, 3),
        ("0 0 H/14 * *", 2, 1, 28, 14),
        ("H/60 * * * *", 0, 0, 59, 60),
        ("H(7-7)/1 * * * *", 0, 7, 7, 1),
    ],
)
def test_a_step_starts_at_any_value_of_its_first_stretch(
    expression: str, place: int, low: int, high: int, step: int
) -> None:
    starts = set()
    for seed in JOBS:
        picked = numbers(expression, place, seed)
        starts.add(picked[0])
        assert picked == list(range(picked[0], high + 1, step))

    assert starts == set(range(low, low + step))


def test_two_ranges_of_one_field_are_picked_alike() -> None:
    for seed in JOBS[:100]:
        first, second = numbers("H(0-29),H(30-59) * * * *", 0, seed)

        assert second - first == 30


def test_fields_are_picked_apart_from_each_other() -> None:
    pairs = {(numbers("H H * * *", 0, seed)[0], numbers("H H * * *", 1, seed)[0]) for seed in JOBS}

    assert len(pairs) > 900  # 1,440 times of the day for 2,000 jobs; one pick for both would give 60


def test_a_list_may_mix_picked_and_plain_values() -> None:
    assert numbers("H(10-19),40 * * * *", 0, "a job")[1] == 40


def test_a_job_keeps_what_was_picked_for_it() -> None:
    # If this fails, every job that has an H is about to run at another time than yesterday.
    assert resolve("H H H H H", "a job") == "7 14 22 12 1"
    assert resolve("H/15 H(0-5) H/7 H(1-6)/2 *", "a job") == "1-59/15 3 6-28/7 2-6/2 *"


def test_without_a_job_the_picks_are_stable() -> None:
    assert Cron("H H * * *") == Cron("H H * * *")
    assert Cron("H H * * *").plain == Cron("H H * * *", seed="").plain
    assert Cron("H H * * *").next_after(NOW) == Cron(resolve("H H * * *", None)).next_after(NOW)


def test_what_is_stored_keeps_the_letter_and_not_the_job() -> None:
    schedule = {"type": "cron", "expression": "H H(0-5) * * *", "timezone": "Asia/Jakarta", "jitter": 9, "max_runs": 2}

    recurrence = parse_schedule(schedule, now=NOW, seed="a job")
    stored = json.loads(json.dumps(recurrence.to_dict()))

    assert stored == schedule
    assert parse_schedule(stored, now=NOW, seed="a job") == recurrence
    assert parse_schedule(stored, now=NOW, seed="another job") != recurrence
    assert recurrence == Jittered(Bounded(Cron("H H(0-5) * * *", "Asia/Jakarta", seed="a job"), max_runs=2), 9)
    assert pickle.loads(pickle.dumps(recurrence)) == recurrence
    assert pickle.loads(pickle.dumps(recurrence)).next_after(NOW) == recurrence.next_after(NOW)


def test_jobs_that_share_a_plain_expression_share_its_schedule() -> None:
    assert Cron("0 9 * * THU", "UTC", seed="a job") == Cron("0 9 * * THU", "UTC", seed="another job")
    assert Cron("@hourly", seed="a job").next_after(NOW) == Cron("0 * * * *").next_after(NOW)


@pytest.mark.parametrize(
    ("expression", "depends"),
    [
        ("0 9 * * THU", False),
        ("0 9 * mar,thu *", False),
        ("@hourly", False),
        ("H * * * *", True),
        ("0 h(0-5) * * *", True),
        ("5,H/30 * * * *", True),
        ("0 0 * * h", True),
    ],
)
def test_whether_a_schedule_is_the_same_for_every_job_can_be_told(expression: str, depends: bool) -> None:
    assert depends_on_seed({"type": "cron", "expression": expression}) is depends


def test_other_kinds_of_schedule_are_the_same_for_every_job() -> None:
    assert not depends_on_seed({"type": "interval", "seconds": 60, "start_at": "2027-03-01T12:00:00Z"})
    assert not depends_on_seed({"type": "once", "run_at": "2027-03-01T12:00:00Z"})


def picked(low: int, high: int) -> st.SearchStrategy[str]:
    ends = st.tuples(st.integers(low, high), st.integers(low, high)).map(sorted)
    ranged = ends.map(lambda pair: f"H({pair[0]}-{pair[1]})")
    stepped = ends.flatmap(
        lambda pair: st.integers(1, pair[1] - pair[0] + 1).map(lambda step: f"H({pair[0]}-{pair[1]})/{step}")
    )
    return st.one_of(st.just("H"), st.just("*"), st.just("H/2"), ranged, stepped, st.integers(low, high).map(str))


@settings(max_examples=100, deadline=None, database=None)
@given(
    st.tuples(picked(0, 59), picked(0, 23), picked(1, 28), picked(1, 12), picked(0, 6)).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
)
def test_whatever_is_picked_is_a_plain_expression(expression: str, seed: str) -> None:
    plain = resolve(expression, seed)

    assert "H" not in plain
    assert compile_expression(plain).matchers
    assert resolve(plain, seed) == plain
    assert depends_on_seed({"expression": expression}) == (plain != expression)
