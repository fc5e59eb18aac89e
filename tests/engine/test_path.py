"""From a job to its outcome, through poller, broker and executor."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from execution.retry import GiveUpNow
from jobs import services
from jobs.models import Attempt, Execution
from jobs.states import IllegalMove, JobStatus, Status
from scheduler_project.logs import _merge_fields_within
from scheduling.index import get_due_index
from scheduling.rebuild import rebuild
from tests.engine.system import wipe_index

SECOND = timedelta(seconds=1)


def only(job) -> Execution:
    return job.executions.get()


def test_a_job_without_a_schedule_runs_now_and_ends_as_finished(system, new_job, recorder) -> None:
    recorder.answer = {"sum": 3}
    job = new_job(payload={"a": 1})

    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    job.refresh_from_db()
    execution = only(job)
    assert job.status == JobStatus.FINISHED and job.next_run_at is None
    assert execution.result == {"sum": 3}
    assert execution.attempt == 1 and execution.wake_at is None
    assert [payload for payload, _ in recorder.runs] == [{"a": 1}]
    assert recorder.runs[0][1].idempotency_key == str(execution.id)


def test_a_recurring_job_has_its_next_run_set_before_it_runs(system, new_job) -> None:
    start = timezone.now() - 2 * SECOND
    job = new_job({"type": "interval", "seconds": 1, "start_at": start.isoformat()})
    first = job.next_run_at

    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    job.refresh_from_db()
    assert job.status == JobStatus.ACTIVE
    assert job.executions.earliest("due_at").due_at == first
    assert job.next_run_at > first and (job.next_run_at - start) % SECOND == timedelta()


def test_a_recurring_job_runs_once_at_each_due_time(system, new_job) -> None:
    job = new_job({"type": "interval", "seconds": 1})
    first = job.next_run_at

    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED).count() >= 3)

    due = list(job.executions.order_by("due_at").values_list("due_at", flat=True)[:3])
    assert due == [first, first + SECOND, first + 2 * SECOND]


def test_a_long_absence_becomes_one_run(system, new_job) -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    job = new_job({"type": "interval", "seconds": 600, "start_at": long_ago.isoformat()})
    type(job).objects.filter(pk=job.pk).update(next_run_at=long_ago)
    get_due_index().put({job.id: long_ago})

    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    job.refresh_from_db()
    assert job.executions.get(status=Status.COMPLETED).due_at == long_ago
    assert job.executions.filter(status=Status.SKIPPED).count() == 6
    assert job.next_run_at > timezone.now() - SECOND


def test_a_failing_execution_is_retried_with_every_attempt_kept(system, new_job, recorder) -> None:
    recorder.raises = [RuntimeError("not yet"), RuntimeError("almost")]
    job = new_job()

    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    execution = only(job)
    assert execution.attempt == 3
    assert list(execution.attempts.values_list("number", "error")) == [
        (1, "RuntimeError: not yet"),
        (2, "RuntimeError: almost"),
    ]
    assert "Traceback" in execution.attempts.first().traceback
    assert len({run.idempotency_key for _, run in recorder.runs}) == 1


def test_a_retry_waits_for_its_time(system, new_job, recorder) -> None:
    recorder.raises = [RuntimeError("not yet")]
    job = new_job()

    system.run_until(lambda: job.executions.filter(status=Status.RETRYING))
    retry_at = only(job).not_before
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    assert only(job).started_at >= retry_at - timedelta(milliseconds=50)


def test_exhausted_retries_end_among_the_dead_letters(system, new_job, recorder) -> None:
    recorder.raises = [RuntimeError(f"no {n}") for n in range(10)]
    job = new_job(max_retries=1)

    system.run_until(lambda: job.executions.filter(status=Status.FAILED, wake_at=None))

    execution = only(job)
    assert execution.attempt == 2 and execution.error == "RuntimeError: no 1"
    assert Attempt.objects.filter(execution=execution).count() == 2
    assert system.poller.outbox.broker.dead_letters() == 1


def test_a_handler_may_give_up_at_once(system, new_job, recorder) -> None:
    recorder.raises = [GiveUpNow("no such mailbox")]
    job = new_job(max_retries=5)

    system.run_until(lambda: job.executions.filter(status=Status.FAILED))

    assert only(job).attempt == 1


@pytest.mark.parametrize("answer", [{"nul": "\x00"}, float("inf"), object(), "\ud800"])
def test_a_result_that_cannot_be_stored_fails_its_own_attempt_only(system, new_job, recorder, answer) -> None:
    recorder.answer = answer
    bad, good = new_job(max_retries=0), new_job(task="send_email", payload=MAIL)

    system.run_until(lambda: Execution.objects.filter(job__in=[bad, good], wake_at=None).count() == 2)

    assert only(bad).status == Status.FAILED and "UnstorableDocument" in only(bad).error
    assert only(good).status == Status.COMPLETED


MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}


def test_an_error_with_unstorable_text_is_still_told(system, new_job, recorder) -> None:
    recorder.raises = [RuntimeError("a \x00 and a \ud800")]
    job = new_job(max_retries=0)

    system.run_until(lambda: job.executions.filter(status=Status.FAILED))

    assert only(job).error == "RuntimeError: a \\x00 and a \\ud800"


def test_run_now_does_not_disturb_the_schedule(system, new_job) -> None:
    job = new_job({"type": "interval", "seconds": 3600})
    before = job.next_run_at

    execution = services.run_job_now(job, actor=None)
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    job.refresh_from_db()
    assert job.next_run_at == before
    assert only(job).id == execution.id and only(job).cause == "run_now"


def test_a_paused_job_does_not_run_until_resumed(system, new_job) -> None:
    job = new_job({"type": "interval", "seconds": 1})
    services.pause_job(job, actor=None)
    for _ in range(3):
        system.round()
    assert not job.executions.exists()

    services.resume_job(job, actor=None)
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))


def test_cancelling_a_job_cancels_what_waits(system, new_job, recorder) -> None:
    job = new_job()
    system.poller.tick()

    services.cancel_job(job, actor=None)
    system.round()

    execution = only(job)
    assert execution.status == Status.CANCELLED and execution.reason == "the job was cancelled"
    assert recorder.runs == []


def test_one_execution_is_cancelled_and_the_job_goes_on(system, new_job, recorder) -> None:
    job = new_job({"type": "interval", "seconds": 3600})
    waiting = services.run_job_now(job, actor=None)

    cancelled = services.cancel_execution(waiting, actor=None)
    system.round()

    job.refresh_from_db()
    assert cancelled.status == Status.CANCELLED and cancelled.reason == "cancelled by hand"
    assert job.status == JobStatus.ACTIVE and recorder.runs == []
    with pytest.raises(IllegalMove):
        services.cancel_execution(cancelled, actor=None)


def test_an_edit_leaves_the_recorded_execution_as_it_was(system, new_job, recorder) -> None:
    job = new_job(payload={"version": 1})
    system.poller.tick()

    services.update_job(job, {"payload": {"version": 2}}, actor=None)
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    assert [payload for payload, _ in recorder.runs] == [{"version": 1}]


def test_a_wiped_due_index_costs_a_rebuild_and_nothing_else(system, new_job) -> None:
    soon = (timezone.now() + SECOND).isoformat()
    jobs = [new_job({"type": "once", "run_at": soon}) for _ in range(20)]
    system.round()

    wipe_index()

    system.run_until(lambda: Execution.objects.filter(status=Status.COMPLETED).count() == len(jobs))
    lateness = [one.started_at - one.due_at for one in Execution.objects.all()]
    assert max(lateness) < 10 * SECOND


def test_a_job_the_index_never_heard_of_still_runs(system, new_job) -> None:
    rebuild(get_due_index())
    job = new_job({"type": "once", "run_at": (timezone.now() + SECOND).isoformat()})
    get_due_index().discard([job.id])  # as if the announcement had been lost

    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
def test_a_handler_that_tries_to_end_the_process_has_failed_like_any_other(system, new_job, recorder, error) -> None:
    recorder.raises = [error]
    job = new_job(max_retries=0)

    system.run_until(lambda: job.executions.filter(status=Status.FAILED))

    assert only(job).error.startswith(type(error).__name__)


def test_a_job_deleted_while_it_runs_is_not_tried_again(system, new_job, recorder) -> None:
    job = new_job()

    def delete_and_fail(payload, run):
        services.delete_job(job, actor=None)
        raise RuntimeError("too late")

    recorder.act = delete_and_fail

    system.run_until(lambda: job.executions.filter(status=Status.CANCELLED))

    assert only(job).reason == "the job was deleted" and only(job).attempt == 1


def test_what_a_handler_logs_says_whose_run_it_was(system, new_job, recorder) -> None:
    told = []
    recorder.act = lambda payload, run: told.append(_merge_fields_within(None, "info", {"event": "mine"}))
    job = new_job()

    system.run_until(lambda: recorder.runs)

    execution = job.executions.get()
    assert told == [
        {
            "execution": str(execution.id),
            "job": str(job.id),
            "tenant": str(job.tenant_id),
            "task": "record",
            "attempt": 1,
            "worker": system.executor.worker,
            "event": "mine",
        }
    ]
