"""History goes when it is old, and nothing else does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from structlog.testing import capture_logs

from execution.processes import make_pruner, make_recoverer
from jobs import services
from jobs.backfill import plan
from jobs.ids import new_job_id
from jobs.models import Attempt, AuditEvent, Execution, Horizon, Job, JobTerm, LogLine, Progress
from jobs.occurrences import list_occurrences
from jobs.outcomes import Outcome
from jobs.pruning import ALL_ANEW, Announced, Kept, Pruner
from jobs.services import NewJob
from jobs.states import AttemptOutcome, Level, Status
from scheduler_project import settings as shipped
from tests.lives import MAIL
from tests.past import past

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
HOURLY = {"type": "cron", "expression": "0 * * * *", "timezone": "UTC"}
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def job(team) -> Job:
    return services.create_job(NewJob("send_email", MAIL, HOURLY, name="hourly"), tenant=team, actor=None)


class Asked(Pruner):
    steps = 0

    def step(self) -> int:
        self.steps += 1
        return super().step()


def prune(batch: int = 100, **kept) -> int:
    return sum(step.gone for step in Pruner(Kept(**kept), batch=batch).all_steps())


def left() -> set:
    return set(Execution.objects.values_list("pk", flat=True))


def test_what_is_over_for_long_goes_with_all_that_belongs_to_it(job) -> None:
    old, young = past(job, 40 * DAY, attempt=2), past(job, DAY)
    Attempt.objects.create(execution=old, number=1, outcome=AttemptOutcome.FAILED, error="x", finished_at=old.due_at)
    LogLine.objects.create(execution=old, attempt=2, number=1, at=old.due_at, level=Level.INFO, text="hello")
    Progress.objects.create(execution=old, attempt=2, number=1, fraction=1, at=old.due_at)

    assert prune(history=30 * DAY) == 1

    assert left() == {young.pk}
    assert not Attempt.objects.exists() and not LogLine.objects.exists() and not Progress.objects.exists()


@pytest.mark.parametrize("status", [Status.SCHEDULED, Status.QUEUED, Status.RUNNING, Status.RETRYING, Status.FAILED])
def test_what_is_not_over_and_dead_letters_stay_however_old(job, status) -> None:
    kept = past(job, 400 * DAY, status)

    assert prune(history=DAY, runs=1, words=DAY) == 0
    assert left() == {kept.pk}


def test_a_dead_letter_that_was_discarded_is_history(job) -> None:
    past(job, 40 * DAY, Status.FAILED, discarded_at=timezone.now())

    assert prune(history=30 * DAY) == 1


def test_what_was_due_long_ago_and_ran_this_morning_stays(job) -> None:
    late = past(job, 40 * DAY, finished_at=timezone.now())

    assert prune(history=30 * DAY) == 0
    assert left() == {late.pk}


def test_it_goes_in_steps_of_a_bounded_size_and_passes_over_what_stays(job) -> None:
    for day in range(31, 38):
        past(job, day * DAY)
    dead = {past(job, day * DAY, Status.FAILED).pk for day in range(40, 45)}

    steps = [step.gone for step in Pruner(Kept(history=30 * DAY), batch=3).all_steps()]

    assert max(steps) <= 3 and sum(steps) == 7 and left() == dead


def test_what_stayed_behind_keeps_nobody_waiting_and_is_looked_at_again_in_a_while(job, monkeypatch) -> None:
    dead = [past(job, place * DAY, Status.FAILED) for place in range(40, 50)]
    pruner, now = Pruner(Kept(history=30 * DAY), batch=2), timezone.now()

    assert [step.gone for step in pruner.all_steps()] == [0] * 5

    past(job, 30 * DAY + timedelta(seconds=5))
    assert [step.gone for step in pruner.all_steps()] == [1]

    Execution.objects.filter(pk=dead[0].pk).update(discarded_at=now)
    assert sum(step.gone for step in pruner.all_steps()) == 0

    monkeypatch.setattr("jobs.pruning.database_now", lambda: now + ALL_ANEW + timedelta(seconds=1))
    assert sum(step.gone for step in pruner.all_steps()) == 1
    assert left() == {one.pk for one in dead[1:]}


def test_of_a_recurring_job_no_more_than_the_latest_runs_stay(job) -> None:
    runs = [past(job, day * DAY) for day in (1, 2, 3, 4, 5)]
    Job.objects.filter(pk=job.pk).update(runs=5)

    assert prune(batch=2, runs=2) == 3
    assert left() == {runs[0].pk, runs[1].pk}
    assert Horizon.objects.of(job) == runs[1].due_at


def test_words_may_go_before_the_history_does(job) -> None:
    old, young = past(job, 10 * DAY), past(job, DAY)
    for one in (old, young):
        LogLine.objects.create(execution=one, attempt=1, number=1, at=one.due_at, level=Level.INFO, text="hello")

    assert prune(history=30 * DAY, words=7 * DAY) == 1

    assert left() == {old.pk, young.pk} and LogLine.objects.get().execution_id == young.pk


def test_audit_events_go_but_for_those_that_tell_the_history(job) -> None:
    services.run_job_now(job, actor=None)
    AuditEvent.objects.update(at=timezone.now() - 10 * DAY)

    assert prune(audit=7 * DAY) == 1
    assert AuditEvent.objects.get().action == "create"
    assert prune(audit=7 * DAY, history=30 * DAY) == 0
    assert prune(audit=7 * DAY, history=8 * DAY) == 1


def test_a_job_that_has_ended_goes_when_its_history_has(team, settings) -> None:
    settings.IDEMPOTENCY_KEPT = DAY
    old = timezone.now() - 10 * DAY
    ended = services.create_job(NewJob("send_email", MAIL, HOURLY, name="over", tags=["x"]), tenant=team, actor=None)
    services.cancel_job(ended, actor=None)
    going = services.create_job(NewJob("send_email", MAIL, HOURLY), tenant=team, actor=None)
    for one in (ended, going):
        _age(one, old)

    assert prune(jobs=2 * DAY) == 1
    assert list(Job.objects.values_list("status", flat=True)) == ["ACTIVE"]


def _age(job: Job, instant: datetime) -> None:
    """As if it had been made then: its id says so too."""
    new = new_job_id(instant)
    AuditEvent.objects.filter(job=job).delete()
    JobTerm.objects.forget([job.pk])
    Job.objects.filter(pk=job.pk).update(id=new, updated_at=instant)


def test_an_ended_job_with_history_stays(job) -> None:
    past(job, DAY)
    services.cancel_job(job, actor=None)

    assert not Job.objects.filter(pk=job.pk).ended().exists()


def test_due_times_whose_history_was_pruned_are_not_taken_for_missed(life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 4.5 * HOUR)
    Execution.objects.filter(due_at__lt=NOON + 3 * HOUR).delete()
    Horizon.objects.move({life.job.pk: NOON + 2.5 * HOUR})

    page = list_occurrences(life.row, start=NOON, end=NOON + 5 * HOUR, now=life.now)

    told = {one.due_at.hour: (one.outcome, one.missed_because) for one in page.occurrences}
    assert told[13] == (Outcome.FORGOTTEN, None) and told[14] == (Outcome.FORGOTTEN, None)
    assert told[12][1] == "not_created" and told[15][0] is Outcome.WAITING
    assert "pruned" in page.occurrences[1].reason


def test_a_backfill_leaves_alone_what_was_pruned(life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 4.5 * HOUR)
    Execution.objects.all().delete()
    Horizon.objects.move({life.job.pk: NOON + 2.5 * HOUR})

    made = plan(life.row, start=NOON + HOUR, end=NOON + 4 * HOUR)

    assert [due.hour for due in made.due_times] == [15] and made.left_alone == 2


def test_a_horizon_never_moves_back(job) -> None:
    Horizon.objects.move({job.pk: NOON})
    Horizon.objects.move({job.pk: NOON - DAY})

    assert Horizon.objects.of(job) == NOON


def test_nothing_goes_unless_somebody_says_so(job) -> None:
    past(job, 4000 * DAY)

    assert Pruner(Kept(), batch=10).step() == 0
    with pytest.raises(CommandError, match="--history 90d"):
        call_command("prune")
    assert len(left()) == 1


def test_the_command_says_what_is_gone(job) -> None:
    past(job, 40 * DAY)
    out = StringIO()

    call_command("prune", "--history", "30d", "--nap", "0", stdout=out)

    assert out.getvalue() == "Pruned: 1 executions.\n" and not left()


@pytest.mark.parametrize("text", ["30", "0d", "d", "-1d", "1y"])
def test_a_length_of_time_that_cannot_be_read_is_refused(db, text) -> None:
    with pytest.raises(CommandError, match="such as 90d"):
        call_command("prune", f"--history={text}")


def test_by_default_history_is_kept_for_90_days_which_is_said_before_it_goes(job, settings) -> None:
    past(job, 100 * DAY)
    young = past(job, 80 * DAY)
    settings.HISTORY_KEPT, settings.HISTORY_KEPT_IS_CHOSEN = shipped.HISTORY_KEPT, False
    passed = 0.0
    pruner = Announced(
        Pruner(Kept(history=shipped.HISTORY_KEPT), batch=10), shipped.HISTORY_KEPT, HOUR, elapsed=lambda: passed
    )

    with capture_logs() as said:
        make_recoverer().tick()  # says so, and waits
        assert [pruner.step() for _ in range(3)] == [0, 0, 0]

    told, _ = [line for line in said if line["event"] == "history.will_be_deleted"]
    assert (told["log_level"], told["executions"]) == ("warning", "1") and "HISTORY_KEPT=forever" in told["remedy"]
    assert shipped.HISTORY_KEPT == 90 * DAY and len(left()) == 2

    passed = HOUR.total_seconds()

    assert pruner.step() == 1 and left() == {young.pk}


def test_where_nothing_is_old_the_default_is_said_and_nothing_is_waited_for(job) -> None:
    past(job, 80 * DAY)
    kept = 90 * DAY

    with capture_logs() as said:
        Announced(asked := Asked(Kept(history=kept), batch=10), kept, HOUR).step()

    assert [(line["event"], line["days"]) for line in said] == [("history.kept", 90)]
    assert asked.steps == 1


def test_whoever_chose_how_long_is_told_nothing(settings) -> None:
    settings.HISTORY_KEPT, settings.HISTORY_KEPT_IS_CHOSEN = 90 * DAY, True
    assert isinstance(make_pruner(), Pruner)

    settings.HISTORY_KEPT = None
    assert isinstance(make_pruner(), Pruner) and make_pruner().step() == 0


def test_the_command_deletes_no_history_by_a_default_that_nobody_chose(job, settings) -> None:
    past(job, 100 * DAY)
    settings.HISTORY_KEPT, settings.HISTORY_KEPT_IS_CHOSEN = 90 * DAY, False

    call_command("prune", "--words", "7d", "--nap", "0", stdout=StringIO())

    assert len(left()) == 1


def test_a_recoverer_prunes_by_itself_where_it_is_told_how_long(job, settings) -> None:
    past(job, 40 * DAY)
    settings.HISTORY_KEPT, settings.HISTORY_KEPT_IS_CHOSEN = 30 * DAY, True

    make_recoverer().tick()

    assert not left()
