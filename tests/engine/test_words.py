"""What handlers say is seen while they run, and is all there when they have ended."""

from __future__ import annotations

from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from execution import scribe
from execution.processes import make_executor
from execution.retry import GiveUpNow
from jobs import ledger
from jobs.models import Execution, LogLine, Progress
from jobs.states import Status
from tests.whole.processes import eventually


def texts() -> list[str]:
    return list(LogLine.objects.values_list("text", flat=True))


def run_once(system, new_job, **job: Any) -> Execution:
    new_job(**job)
    system.run_until(lambda: Execution.objects.filter(finished_at__isnull=False))
    return Execution.objects.get()


def test_words_can_be_read_while_the_handler_still_runs(system, new_job, recorder) -> None:
    read = Event()

    def act(payload, run):
        run.log("Halfway", level="warning")
        run.progress(0.5, "half")
        assert read.wait(30)

    recorder.act = act
    new_job()
    try:
        system.poller.tick()
        system.executor.tick()
        eventually(lambda: LogLine.objects.exists() and Progress.objects.exists())
        running = Execution.objects.get()
    finally:
        read.set()

    assert running.status == Status.RUNNING
    assert (running.progress.fraction, running.progress.message, running.progress.attempt) == (0.5, "half", 1)
    [line] = running.log_lines.all()
    assert (line.attempt, line.level, line.text) == (1, "warning", "Halfway")
    system.executor.drain(timedelta(seconds=20))


def test_the_last_words_are_there_when_the_outcome_is(system, new_job, recorder, monkeypatch) -> None:
    seen: list[list[str]] = []
    settle = ledger.settle
    monkeypatch.setattr(ledger, "settle", lambda outcomes: (outcomes and seen.append(texts())) or settle(outcomes))

    def act(payload, run):
        for step in range(100):
            run.log("Said again and again")
            run.progress(step / 100)
        run.log("The last")

    recorder.act = act
    execution = run_once(system, new_job)

    assert execution.status == Status.COMPLETED
    assert seen == [["Said again and again"] * 100 + ["The last"]]
    assert execution.progress.fraction == 0.99


def test_an_attempt_that_fails_leaves_its_words_and_the_next_adds_its_own(system, new_job, recorder) -> None:
    def act(payload, run):
        run.log(f"attempt {run.attempt}")
        run.progress(0.9 if run.attempt == 1 else 0.1)
        raise RuntimeError("failed") if run.attempt == 1 else GiveUpNow("no use")

    recorder.act = act
    execution = run_once(system, new_job)

    assert execution.status == Status.FAILED
    assert list(LogLine.objects.values_list("attempt", "text")) == [(1, "attempt 1"), (2, "attempt 2")]
    assert execution.progress.attempt == 2 and execution.progress.fraction == 0.1


def test_a_handler_that_says_nothing_costs_no_statement(system, new_job, recorder) -> None:
    new_job()
    system.poller.tick()

    with CaptureQueriesContext(connection) as asked:
        system.round()

    assert Execution.objects.get().status == Status.COMPLETED
    assert not any("jobs_logline" in query["sql"] or "jobs_progress" in query["sql"] for query in asked)
    assert not system.executor._scribe._spoke


def test_words_outlive_a_database_that_is_away_and_hold_up_no_outcome(system, new_job, recorder, monkeypatch) -> None:
    failures = [OperationalError("gone"), OperationalError("still gone")]
    keep = ledger.keep_lines

    def flaky(lines):
        if failures:
            raise failures.pop()
        keep(lines)
        keep(lines)  # as if nobody had heard that it was written

    monkeypatch.setattr(scribe.ledger, "keep_lines", flaky)
    recorder.act = lambda payload, run: run.log("Once")

    execution = run_once(system, new_job)

    assert execution.status == Status.COMPLETED
    eventually(LogLine.objects.exists)
    assert texts() == ["Once"] and not failures


def test_lines_that_pile_up_while_the_database_is_away_are_bounded(system, new_job, recorder, monkeypatch) -> None:
    monkeypatch.setattr(scribe, "MOST_UNWRITTEN", 5)
    keep, failures = ledger.keep_lines, [OperationalError("gone")]

    def flaky(lines):
        if failures:
            raise failures.pop()
        keep(lines)

    monkeypatch.setattr(scribe.ledger, "keep_lines", flaky)

    def act(payload, run):
        for number in range(8):
            run.log(number)

    recorder.act = act
    run_once(system, new_job)

    eventually(LogLine.objects.exists)
    assert texts() == ["0", "1", "2", "3", "4"]


def test_words_of_an_earlier_attempt_do_not_change_the_progress_of_a_later(system, new_job, recorder) -> None:
    execution = run_once(system, new_job)
    now = timezone.now()

    for attempt, number, fraction in [(2, 5, 0.5), (1, 9, 0.9), (2, 4, 0.4), (2, 6, 0.6)]:
        ledger.keep_progress([(execution.pk, attempt, number, now, fraction, "")])

    assert Progress.objects.get().fraction == 0.6


def test_words_for_an_execution_that_is_no_more_leave_the_others_alone(system, new_job, recorder) -> None:
    execution = run_once(system, new_job)
    now, gone = timezone.now(), type(execution.pk)(int=1)

    ledger.keep_lines([(one, 1, 1, now, "info", "Hello") for one in (gone, execution.pk)])
    ledger.keep_progress([(one, 1, 1, now, 0.1, "") for one in (gone, execution.pk)])

    assert LogLine.objects.get().execution == execution and Progress.objects.get().execution == execution


def test_a_stopped_executor_has_written_what_it_heard(new_job, system, recorder) -> None:
    recorder.act = lambda payload, run: run.log("Before the end")
    new_job()
    system.poller.tick()
    executor = make_executor()
    executor.start()
    executor.tick()

    executor.stop(timedelta(seconds=20))

    assert texts() == ["Before the end"]
    assert Execution.objects.get().status == Status.COMPLETED


@pytest.mark.parametrize(("largest", "status"), [(20, Status.FAILED), (30, Status.COMPLETED)])
def test_a_result_that_is_too_large_fails_clearly_and_is_not_tried_again(
    settings, system, new_job, recorder, largest, status
) -> None:
    settings.MAX_RESULT_BYTES = largest
    recorder.answer = {"text": "é" * 3}  # 6 bytes each as JSON

    execution = run_once(system, new_job)

    assert execution.status == status and execution.attempt == 1
    if status == Status.FAILED:
        assert "result has 30 bytes as JSON; at most 20" in execution.error and "MAX_RESULT_BYTES" in execution.error


def test_a_handler_knows_its_deadline_and_whether_it_is_the_last_attempt(system, new_job, recorder) -> None:
    told = []

    def act(payload, run):
        told.append((run.deadline - timezone.now(), run.last_attempt, run.tenant_id))
        raise RuntimeError("again")

    recorder.act = act
    execution = run_once(system, new_job, time_limit=60, max_retries=1)

    assert [last for _, last, _ in told] == [False, True]
    assert all(timedelta(0) < left <= timedelta(seconds=60) for left, *_ in told)
    assert {tenant for *_, tenant in told} == {execution.tenant_id}
