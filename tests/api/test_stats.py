"""What the dashboard counts: bounded, by tenant, and read once for all who look."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from queue import Queue
from threading import Semaphore
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Tenant, User
from jobs import services
from jobs.ids import execution_id
from jobs.models import Attempt, Execution, Job, Presence
from jobs.models.presence import STUCK, VANISHES
from jobs.services import NewJob
from jobs.states import AttemptOutcome, Cause, Priority, Status
from jobs.stats import buckets, load, unfinished
from jobs.stats.buckets import Buckets, read_bucket
from jobs.stats.failures import latest_failures
from jobs.stats.job import calendar_of, past_of
from jobs.stats.load import Forecasts
from jobs.stats.snapshot import snapshots
from jobs.stats.spans import HOUR
from jobs.stats.unfinished import Look, running_now
from jobs.stats.upcoming import next_runs
from scheduler_project.presence import Announcer, Load
from tests.conftest import client_of
from tests.whole.processes import eventually

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOURLY = {"type": "interval", "seconds": 3600}


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    snapshots.forget()
    yield
    snapshots.forget()


def job_of(tenant: Tenant, name: str = "a job") -> Job:
    return services.create_job(NewJob("send_email", MAIL, HOURLY, name=name), tenant=tenant, actor=None)


@pytest.fixture
def job(team: Tenant) -> Job:
    return job_of(team)


def run_of(job: Job, due: datetime, status: Status = Status.COMPLETED, *, took: float = 1.0, **rest: Any) -> Execution:
    ended = status in (Status.COMPLETED, Status.FAILED)
    values = {
        "attempt": 1,
        "started_at": due + SECOND / 2 if ended or status is Status.RUNNING else None,
        "finished_at": due + SECOND / 2 + timedelta(seconds=took) if ended else None,
        "wake_at": None if ended or status is Status.SKIPPED else due + MINUTE,
        "worker": "one-1" if status is Status.RUNNING else "",
    }
    return Execution.objects.create(
        id=execution_id(job.id, due, Cause.SCHEDULE),
        job=job,
        tenant_id=job.tenant_id,
        task=job.task,
        priority=Priority.NORMAL,
        status=status,
        due_at=due,
        not_before=due,
        recorded_at=due,
        **values | rest,
    )


def test_a_bucket_has_the_runs_that_were_due_in_it_by_what_became_of_them(job: Job, team: Tenant) -> None:
    start = timezone.now().replace(microsecond=0) - 10 * MINUTE
    run_of(job, start - SECOND)
    run_of(job, start, took=2)
    run_of(job, start + 59 * SECOND, Status.FAILED)
    run_of(job, start + MINUTE)

    bucket = read_bucket(team, start, MINUTE)

    assert bucket.counts == {Status.COMPLETED: 1, Status.FAILED: 1} and not bucket.estimated
    assert bucket.durations == (2.0,) and bucket.lateness == (0.5, 0.5)


def test_of_a_full_bucket_some_are_read_and_the_rest_is_reckoned(
    job: Job, team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "MOST_READ", 10)
    monkeypatch.setattr(buckets, "MOST_COUNTED", 20)
    start = timezone.now().replace(microsecond=0) - 10 * MINUTE
    for number in range(60):
        run_of(job, start + number * SECOND, Status.FAILED if number % 2 else Status.COMPLETED)

    bucket = read_bucket(team, start, MINUTE)

    assert bucket.estimated and 55 <= bucket.total <= 65
    assert abs(bucket.counts[Status.FAILED] - bucket.counts[Status.COMPLETED]) <= bucket.total / 4


def test_a_bucket_that_is_over_is_read_once(job: Job, team: Tenant, django_assert_num_queries: Any) -> None:
    # Long enough after a full minute: the one before is over, and settled.
    known, now = Buckets(), timezone.now().replace(second=40)
    run_of(job, now - 20 * MINUTE)
    known.of(team, HOUR, now)

    with django_assert_num_queries(1):  # the present one
        told = known.of(team, HOUR, now)

    assert sum(bucket.total for bucket in told) == 1


def test_what_runs_and_waits_is_counted_by_task_and_tenant(job: Job, team: Tenant, charlie: User) -> None:
    now = timezone.now()
    run_of(job, now, Status.RUNNING)
    run_of(job, now - SECOND, Status.QUEUED)
    run_of(job, now - 2 * SECOND, Status.RETRYING)
    run_of(job, now - MINUTE)
    run_of(job_of(charlie.tenants.get()), now, Status.RUNNING)

    look = Look()

    ours = look.of(team)
    assert (ours.running, ours.waiting, ours.retrying, ours.more) == (1, 1, 1, False)
    assert ours.held == {"one-1": 1} and [line.task for line in ours.lines] == ["send_email"]
    assert look.of(None).running == 2
    assert [run.job.name for run in running_now(team)] == ["a job"]


def test_a_backlog_beyond_the_bound_is_told_to_be_more(job: Job, team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished, "MOST", 3)
    now = timezone.now()
    for number in range(5):
        run_of(job, now - number * SECOND, Status.QUEUED, wake_at=now + 5 * MINUTE)
    run_of(job, now - MINUTE, Status.RUNNING)

    look = Look().of(team)

    assert look.more and look.running == 1 and look.waiting == 2


def test_next_runs_are_the_tenants_own_the_first_first(team: Tenant, charlie: User) -> None:
    theirs = job_of(charlie.tenants.get())
    late, soon = job_of(team, "late"), job_of(team, "soon")
    Job.objects.filter(pk=soon.pk).update(next_run_at=timezone.now() + SECOND)

    assert [one.pk for one in next_runs(team)] == [soon.pk, late.pk]
    assert theirs.pk in {one.pk for one in next_runs(None)}


def test_a_failure_that_was_recovered_from_is_told_as_such(job: Job, team: Tenant, charlie: User) -> None:
    now = timezone.now()
    recovered, dead = run_of(job, now - MINUTE, attempt=2), run_of(job, now - SECOND, Status.FAILED, error="gone")
    for one in (recovered, dead):
        Attempt.objects.create(
            execution=one, number=1, outcome=AttemptOutcome.FAILED, error="gone", finished_at=one.due_at + SECOND
        )

    told = latest_failures(team)

    assert [(one.execution, one.status) for one in told] == [
        (dead.pk, Status.FAILED),
        (recovered.pk, Status.COMPLETED),
    ]
    assert latest_failures(charlie.tenants.get()) == []


def test_a_year_of_days_is_coloured_by_outcome(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    yesterday = now - timedelta(days=1)
    run_of(job, yesterday)
    run_of(job, yesterday + SECOND, Status.FAILED)

    year = calendar_of(job, now)

    assert year.whole and sum(day.total() for day in year.days.values()) == 2
    assert past_of(job).rate == 50
    monkeypatch.setattr("jobs.stats.job.MOST", 1)
    part = calendar_of(job, now)
    assert not part.whole and sum(day.total() for day in part.days.values()) == 1


def test_all_who_look_share_one_reading_a_second(job: Job, team: Tenant, django_assert_num_queries: Any) -> None:
    first = snapshots.of(team, HOUR)

    with django_assert_num_queries(0):
        assert snapshots.of(team, HOUR) is first


def test_a_process_whose_loop_hangs_is_seen_as_stuck_until_a_round_ends(db: None) -> None:
    announcer = Announcer("poller")
    announcer._round_ended -= STUCK.total_seconds() + 1  # the clock itself is everybody's
    announcer.say()
    assert Presence.objects.get().stuck and [one.stuck for one in snapshots.of(None, HOUR).workers] == [True]

    announcer.round_ended()
    announcer.say()

    assert not Presence.objects.get().stuck


def test_a_process_is_seen_while_it_says_so_and_vanishes_after_that(db: None, team: Tenant) -> None:
    announcer = Announcer("executor", load=lambda: Load(holding=3), room=8, tasks=["send_email"])
    announcer.say()
    announcer.say()
    [row] = Presence.objects.all()

    assert (row.holding, row.room, row.tasks) == (3, 8, ["send_email"])
    assert list(Presence.objects.present(row.seen_at)) == [row]
    assert not Presence.objects.present(row.seen_at + VANISHES).exists()
    [worker] = snapshots.of(None, HOUR).workers
    [seen] = snapshots.of(team, HOUR).workers
    assert worker.holding == 3 and seen.holding == 0  # what it holds of others is nobody's business
    announcer.leave()
    assert not Presence.objects.exists()


def test_an_executor_says_when_it_last_concluded_an_attempt(db: None) -> None:
    load = [Load(holding=3)]
    announcer = Announcer("executor", load=lambda: load[0])
    announcer.say()
    assert Presence.objects.get().concluded_at is None

    load[0] = Load(holding=3, overrun=1, concluded=1)
    announcer.say()
    row = Presence.objects.get()
    announcer.say()

    assert row.overrun == 1 and row.concluded_at == row.seen_at
    assert Presence.objects.get().concluded_at == row.concluded_at < Presence.objects.get().seen_at


def test_the_api_tells_the_same_numbers(job: Job, alice: User, charlie: User) -> None:
    now = timezone.now()
    run_of(job, now - MINUTE)
    run_of(job, now - 2 * MINUTE, Status.FAILED, error="gone")
    run_of(job, now, Status.RUNNING)

    told = client_of(alice).get("/api/v1/stats").json()

    assert (told["running"], told["completed_last_hour"], told["failed_last_hour"], told["dead_letters"]) == (
        1,
        1,
        1,
        1,
    )
    assert told["lateness"]["p50"] == 0.5 and len(told["buckets"]) == 60
    assert [one["error"] for one in told["failures"]] == ["gone"]
    assert [one["job"] for one in told["next_runs"]] == [str(job.pk)]
    others = client_of(charlie).get("/api/v1/stats?span=5m").json()
    assert (others["running"], others["failures"], others["next_runs"], others["span"]) == (0, [], [], "5m")


def test_a_span_that_there_is_not_is_refused(api: Any) -> None:
    answer = api.get("/api/v1/stats?span=2y")

    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == "span"


def test_forecasts_that_take_long_are_made_one_after_the_other(
    job: Job, team: Tenant, charlie: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread for each of a hundred tenants would leave `/healthz` hardly any turns."""
    theirs = charlie.tenants.get()
    services.create_job(NewJob("send_email", MAIL, HOURLY), tenant=theirs, actor=charlie)
    monkeypatch.setattr(load, "AT_ONCE", 0)
    begun: Queue[Tenant] = Queue()
    go_on = Semaphore(0)

    def make(hours: int, *, tenant: Tenant, **_: Any) -> str:
        begun.put(tenant)
        go_on.acquire(timeout=30)
        return tenant.name

    monkeypatch.setattr(load, "load_report", make)
    forecasts = Forecasts()
    assert forecasts.of(team) is None and begun.get(timeout=30) == team
    assert [forecasts.of(theirs) for _ in range(5)] == [None] * 5 and begun.empty()
    go_on.release(2)

    eventually(lambda: forecasts.of(team) == team.name)
    eventually(lambda: forecasts.of(theirs) == theirs.name)
    assert begun.get(timeout=30) == theirs and begun.empty()
