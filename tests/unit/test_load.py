"""Starts are counted as the poller will make them, and advice is tried out before it is given."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import Tenant
from jobs.stats.load import Reports, TooSoon
from scheduling.load import Groups, Report, Window, Written, report_on, starts
from scheduling.load.advice import change_for
from scheduling.load.counting import STEPS_OF_A_PICK, STEPS_OF_A_RULE, Budget, Tally
from scheduling.load.drawing import drawn
from scheduling.recurrence import parse_schedule
from tests.schedules import recurrences

NOW = datetime(2027, 3, 27, 22, 17, 30, tzinfo=UTC)  # three hours before Paris loses one
HOURLY = {"type": "cron", "expression": "0 * * * *"}


def groups_of(jobs: list[tuple[UUID, dict]], hours: int = 24, now: datetime = NOW) -> Groups:
    groups = Groups(Window(now, hours))
    for job, schedule in jobs:
        recurrence = parse_schedule(schedule, now=now, seed=str(job))
        due = recurrence.next_after(now)
        assert due is not None
        groups.add(job, f"job {job.hex[:4]}", json.dumps(recurrence.to_dict()), due=due, runs=0)
    return groups


def report(*schedules: tuple[int, dict], hours: int = 24) -> Report:
    return report_on(groups_of([(uuid4(), schedule) for count, schedule in schedules for _ in range(count)], hours))


def counted(groups: Groups) -> Counter[int]:
    tally = Tally(groups.window)
    for group in groups:
        tally.add(group)
    return +Counter(dict(enumerate(tally.per_minute())))


@settings(max_examples=150, deadline=None)
@given(recurrences, st.uuids(), st.timedeltas(timedelta(0), timedelta(days=2)), st.integers(1, 5))
def test_each_start_is_counted_in_its_minute(recurrence, job, since, runs) -> None:
    """Step by step, as a poller goes from run to run; a run that is overdue is made at once, and once."""
    recurrence = parse_schedule(recurrence.to_dict(), now=NOW, allow_past=True, seed=str(job))
    window = Window(NOW, 3)
    due = first = recurrence.next_after(NOW - since)
    expected: Counter[int] = Counter()
    made = runs
    while due is not None and due < window.end:
        start = max(recurrence.not_before(due, key=str(job)), window.start)
        if start < window.end:
            expected[(start - window.start) // timedelta(minutes=1)] += 1
        made += 1
        due = recurrence.next_due(max(due, NOW), runs_so_far=made)
    groups = Groups(window)
    if first is not None:
        groups.add(job, "", json.dumps(recurrence.to_dict()), due=first, runs=runs)

    if getattr(recurrence, "max_runs", None) is None or recurrence.max_runs > runs:
        assert counted(groups) == expected


def test_jobs_that_run_alike_are_counted_as_one_group() -> None:
    anchors = [(NOW + timedelta(microseconds=n)).isoformat() for n in range(1, 501)]
    each_minute = [(uuid4(), {"type": "interval", "seconds": 60, "start_at": anchor}) for anchor in anchors]

    groups = groups_of([(uuid4(), HOURLY) for _ in range(500)] + each_minute)

    assert len(groups) == 2 and groups.jobs == 1000


def test_the_worst_minute_is_named_with_what_makes_it_up() -> None:
    each_minute, once_a_day = HOURLY | {"expression": "* * * * *"}, HOURLY | {"expression": "30 3 * * *"}

    told = report((37, HOURLY), (5, each_minute), (1, once_a_day))

    [worst, *_] = told.worst
    assert told.busiest == worst.executions == 42 and told.typical == 5
    assert (worst.at.minute, len(worst.alike)) == (0, 23)
    assert [(str(part.written), part.executions, len(part.examples)) for part in worst.parts] == [("0 * * * *", 37, 3)]
    assert worst.others == 5, "what runs every minute is not why this one is busy"
    assert sum(hour.executions for hour in told.hours) == told.executions == 37 * 24 + 5 * (24 * 60 - 1) + 1


def test_the_advice_says_what_would_help_and_how_much() -> None:
    jobs = [(uuid4(), HOURLY) for _ in range(37)]

    [advice] = report_on(groups_of(jobs)).advice

    assert (advice.jobs, advice.together, advice.change) == (37, 37, {"expression": "H * * * *"})
    changed = counted(groups_of([(job, HOURLY | advice.change) for job, _ in jobs]))
    assert max(changed.values()) == advice.then <= 5
    assert str(advice) == (
        f"37 jobs with `0 * * * *`, up to 37 in a minute: `H * * * *` would make it at most {advice.then}."
    )


def test_advice_on_jitter_is_tried_out_too() -> None:
    start = (NOW + timedelta(minutes=5)).isoformat()
    jobs = [(uuid4(), {"type": "interval", "seconds": 3600, "start_at": start}) for _ in range(200)]

    told = report_on(groups_of(jobs))

    [advice] = told.advice
    changed = counted(groups_of([(job, schedule | advice.change) for job, schedule in jobs]))
    assert advice.change == {"jitter": 900} and advice.then == told.busiest_then < 40
    assert max(changed.values()) == pytest.approx(advice.then, rel=0.3), "no two draws are the same"


@pytest.mark.parametrize(
    ("expression", "change"),
    [
        ("0 * * * *", {"expression": "H * * * *"}),
        ("30 9 * * 1-5", {"expression": "H 9 * * 1-5"}),
        ("*/15 * * * *", {"expression": "H/15 * * * *"}),
        ("0,30 8 * * *", {"expression": "H/30 8 * * *"}),
        ("@daily", {"expression": "H 0 * * *"}),
        ("0 H * * *", {"expression": "H H * * *"}),
        ("*/15 9-17 * * *", {"jitter": 900}),  # an H would make fixed times of what follows real time
        ("0,10,40 * * * *", {"jitter": 600}),
        ("H * * * *", None),
        ("* * * * *", None),
        ("*/2 * * * *", {"expression": "H/2 * * * *"}),
    ],
)
def test_the_hour_and_the_days_stay_as_they_are(expression, change) -> None:
    assert change_for(Written("cron", expression, "UTC")) == change


def test_what_is_spread_already_gets_no_advice() -> None:
    told = report((200, HOURLY | {"expression": "H * * * *"}), (200, HOURLY | {"jitter": 3600}))

    assert told.advice == [] and told.busiest_then == told.busiest
    assert any("Nothing to advise" in line for line in drawn(told))


def test_what_would_take_too_long_is_estimated_and_said() -> None:
    groups = groups_of([(uuid4(), HOURLY | {"jitter": 600}) for _ in range(100)])
    tally = Tally(groups.window, Budget(10))

    for group in groups:
        tally.add(group)

    assert sum(len(group.jobs) for group in tally.estimated) == 100
    assert max(tally.per_minute()) == 10 and abs(sum(tally.per_minute()) - 2400) <= 24


@pytest.mark.parametrize(
    "schedule",
    [
        lambda n: HOURLY | {"expression": f"{n % 60} * * * *", "jitter": 60 + n},
        lambda n: HOURLY | {"expression": f"{n % 60},{n % 59} {n % 24} * * *", "jitter": 60 + n},
        lambda n: HOURLY | {"expression": "*/2 * * * *", "max_runs": 1000 + n},
        lambda n: HOURLY | {"expression": "H * * * *", "max_runs": 1000 + n},
        lambda n: HOURLY | {"max_runs": 1 + n},
    ],
)
def test_the_work_on_a_report_is_bounded_whatever_the_schedules_are(monkeypatch, schedule) -> None:
    steps = 20_000
    groups = groups_of([(uuid4(), schedule(n)) for n in range(400)], hours=168)
    spent: Counter[str] = Counter()
    monkeypatch.setattr(starts, "start_within", counting(starts.start_within, spent, each=STEPS_OF_A_PICK))
    monkeypatch.setattr(starts, "runs_between", counting_members(starts.runs_between, spent))

    told = report_on(groups, steps=steps)

    most_of_one_group = 168 * 60
    assert spent.total() <= 3 * steps + 2 * most_of_one_group  # counted, looked at closely, and for the advice
    assert told.jobs == 400 and told.left_out + told.estimated < 400
    assert told.left_out == 0 or any(f"{told.left_out:,} jobs are left out" in line for line in drawn(told))


def test_only_so_many_schedules_are_read_for_one_report_and_the_next_report_reads_further_ones() -> None:
    def groups() -> Groups:
        groups = Groups(Window(NOW, 24), max_new=30)
        for number in range(100):
            schedule = json.dumps(HOURLY | {"max_runs": 700_000 + number})  # which nobody else has read
            groups.add(uuid4(), "", schedule, due=NOW, runs=0)
        return groups

    told = [report_on(groups()) for _ in range(4)]

    assert [one.left_out for one in told] == [70, 40, 10, 0]
    assert [one.jobs for one in told] == [30, 60, 90, 100]


def test_rules_picked_for_each_job_are_bounded_too() -> None:
    groups = Groups(Window(NOW, 24), max_new=30)

    for number in range(200):
        groups.add(UUID(int=number), "", json.dumps(HOURLY | {"expression": "H H H H 3"}), due=NOW, runs=0)

    assert 0 < len(groups) <= 30 and groups.left_out == 200 - groups.jobs


def counting(function, spent: Counter[str], *, each: int):
    def count(*arguments, **options):
        spent["picks"] += each
        return function(*arguments, **options)

    return count


def counting_members(function, spent: Counter[str]):
    def count(*arguments):
        for one in function(*arguments):
            spent["runs"] += 1
            yield one

    return count


def test_those_that_many_jobs_share_are_counted_first() -> None:
    alone = [(uuid4(), HOURLY | {"expression": f"{n} * * * *", "max_runs": 500 + n}) for n in range(50)]
    many = [(uuid4(), HOURLY) for _ in range(300)]

    told = report_on(groups_of([*alone, *many]), steps=STEPS_OF_A_RULE + 50)

    assert told.busiest >= 300 and 0 < told.left_out < 50


class Asked:
    """What makes reports, how often it was asked, and a clock that it moves on."""

    def __init__(self, takes: float) -> None:
        self.takes, self.now, self.times = takes, 1000.0, 0

    def __call__(self, hours: int, **_: object) -> Report:
        self.times += 1
        self.now += self.takes
        return report((1, HOURLY), hours=hours)


def test_a_report_that_took_long_is_remembered_and_no_other_follows_at_once() -> None:
    asked = Asked(takes=2.0)
    reports = Reports(asked, lambda: asked.now)

    for _ in range(20):
        assert reports.of(None, 24).hours
    for hours in (1, 23, 25, 168):
        with pytest.raises(TooSoon) as refused:
            reports.of(None, hours)
    assert asked.times == 1 and 0 < refused.value.again_in <= 20

    asked.now += 60
    reports.of(None, 168)
    assert asked.times == 2
    assert reports.of(None, 3, at_once=True) and asked.times == 3  # who runs the system need not wait


def test_a_report_that_took_little_is_always_fresh() -> None:
    asked = Asked(takes=0.01)
    reports = Reports(asked, lambda: asked.now)

    for hours in range(1, 13):
        reports.of(None, hours)
    asked.now += 1
    reports.of(None, 1)

    assert asked.times == 13


def test_of_many_who_ask_at_once_one_reckons() -> None:
    begun, go_on = Event(), Event()
    made = []

    def make(hours: int, **_: object) -> Report:
        made.append(hours)
        begun.set()
        go_on.wait(30)
        return report((1, HOURLY), hours=hours)

    reports = Reports(make, lambda: 1000.0 + go_on.is_set())  # it takes a second
    told: list[Report] = []
    threads = [Thread(target=lambda: told.append(reports.of(None, 24))) for _ in range(6)]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    with pytest.raises(TooSoon):  # nor do those who ask for something else wait in line
        reports.of(None, 25)
    go_on.set()
    for thread in threads:
        thread.join(30)

    assert made == [24] and len(told) == 6 and len({id(one) for one in told}) == 1


@pytest.mark.parametrize("scope", [None, Tenant(pk=uuid4())])
def test_nobody_waits_long_for_a_report_that_another_request_makes(monkeypatch, scope) -> None:
    monkeypatch.setattr("jobs.stats.load.PATIENCE", 0.05)
    begun, go_on = Event(), Event()

    def make(hours: int, **_: object) -> Report:
        begun.set()
        go_on.wait(30)
        return report((1, HOURLY), hours=hours)

    reports = Reports(make)
    busy = Thread(target=reports.of, args=(None, 24))
    busy.start()
    assert begun.wait(30)
    with pytest.raises(TooSoon):  # the same report, and one of another tenant
        reports.of(scope, 24)
    go_on.set()
    busy.join(30)

    assert reports.of(scope, 24).hours


def test_a_schedule_that_cannot_be_read_is_left_out_and_said() -> None:
    groups = groups_of([(uuid4(), HOURLY)])
    groups.add(uuid4(), "", '{"type": "lunar"}', due=NOW, runs=0)

    told = report_on(groups, left_out=7)

    assert (told.jobs, told.left_out) == (1, 8)
    assert any("8 jobs are left out" in line for line in drawn(told))


@pytest.mark.parametrize("hours", [24, 168])
@pytest.mark.parametrize("plain", [False, True])
def test_a_drawing_fits_a_terminal(hours, plain) -> None:
    lines = list(
        drawn(report((37, HOURLY), (3, {"type": "cron", "expression": "0 9 * * *"}), hours=hours), plain=plain)
    )

    assert max(map(len, lines)) <= 120 and len(lines) < 60
    assert not plain or "\n".join(lines).replace("…", "").isascii()


def test_an_empty_system_has_a_report_too() -> None:
    assert "0 jobs, 0 executions" in "\n".join(drawn(report_on(Groups(Window(NOW, 24)))))


@pytest.mark.parametrize("hours", [0, 169, 8760])
def test_more_than_a_week_is_refused(hours) -> None:
    with pytest.raises(ValueError, match="1 to 168"):
        Window(NOW, hours)
