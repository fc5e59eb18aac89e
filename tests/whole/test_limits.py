"""Work that takes too long, crashes its process, or is cancelled: stopped, counted, and nobody else is hurt."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction

from accounts.models import Tenant
from jobs import services
from jobs.models import Execution, Job
from jobs.states import AttemptOutcome, Status
from tests.whole.processes import eventually, start

# What is shown here has nothing to do with the servers, and takes its time: once is enough. And one recoverer and one
# executor are enough for all of it: whatever a test does to them, the next must find them at work.
pytestmark = pytest.mark.skipif(not settings.EMBEDDED, reason="shown in embedded mode")

ENV = {"EXTRA_APPS": "tests.chores", "RETRY_BASE": "0.1", "ISOLATE_HANDLERS": "true", "END_GRACE": "0.7"}
ENV |= {"HANDLER_MEMORY_MIB": "300"}


def start_executor() -> subprocess.Popen[str]:
    return start("manage.py", "run_executor", "--concurrency", "4", **ENV)


@pytest.fixture(scope="module")
def daemons(django_db_setup: None) -> Iterator[list[subprocess.Popen[str]]]:
    """A recoverer, which sends what is recorded, and an executor with four threads."""
    running = [start("manage.py", "run_recoverer", **ENV), start_executor()]
    yield running
    for process in running:
        process.terminate()
    for process in running:
        process.communicate(timeout=30)


@pytest.fixture
def run(daemons, team: Tenant) -> Callable[..., Execution]:
    """Run a task now."""

    def run(task: str, payload: dict[str, Any] | None = None, **job: Any) -> Execution:
        made = Job.objects.create(tenant=team, task=task, payload=payload or {}, **job)
        return services.run_job_now(made, actor=None)

    return run


def ended(execution: Execution) -> bool:
    execution.refresh_from_db()
    return execution.finished_at is not None and execution.wake_at is None


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("task", ["loop", "stubborn"])
def test_a_handler_that_never_ends_is_stopped_and_has_failed(run, task) -> None:
    execution = run(task)

    eventually(lambda: ended(execution))

    assert execution.status == Status.FAILED and "TimeLimitExceeded" in execution.error
    assert execution.attempts.get().outcome == AttemptOutcome.FAILED


def test_a_handler_stuck_in_c_code_is_ended_with_its_process_and_its_neighbours_are_given_back(run) -> None:
    neighbour = run("nap", {"seconds": 4})
    stuck = run("nap", {"seconds": 600}, time_limit=0.5, max_retries=0)

    eventually(lambda: ended(stuck))
    assert stuck.status == Status.FAILED and "TimeLimitExceeded" in stuck.error

    eventually(lambda: ended(neighbour))
    assert neighbour.status == Status.COMPLETED
    assert neighbour.attempt - neighbour.forgiven == 1 and not neighbour.attempts.exists()


@pytest.mark.parametrize("task", ["crash", "exit"])
def test_a_handler_that_kills_its_process_runs_out_of_attempts_and_hurts_nobody(run, daemons, task) -> None:
    neighbours = [run("nap", {"seconds": 1}) for _ in range(3)]
    killer = run(task)
    later = [run("together") for _ in range(20)]

    eventually(lambda: ended(killer))

    assert killer.status == Status.FAILED
    assert set(killer.attempts.values_list("outcome", flat=True)) == {AttemptOutcome.CRASHED}
    assert killer.attempt - killer.forgiven == 3  # the first, and two retries
    for execution in [*neighbours, *later]:
        eventually(lambda execution=execution: ended(execution))
        assert execution.status == Status.COMPLETED
        assert execution.attempt - execution.forgiven == 1  # whatever happened to them was not counted
    assert all(process.poll() is None for process in daemons)


def pids(executor: subprocess.Popen[str]) -> list[int]:
    """Of the processes that handlers run in."""
    [nursery] = children(executor.pid)
    return children(nursery)


def test_a_handler_that_takes_all_memory_fails_alone_and_its_neighbours_are_not_counted(run, daemons) -> None:
    warm = run("together")
    eventually(lambda: ended(warm))
    neighbours = [run("nap", {"seconds": 1}) for _ in range(3)]
    hoarder = run("hoard")
    later = [run("together") for _ in range(10)]

    eventually(lambda: ended(hoarder))

    assert hoarder.status == Status.FAILED and "HANDLER_MEMORY_MIB" in hoarder.error
    outcomes = list(hoarder.attempts.order_by("number").values_list("outcome", flat=True))
    assert outcomes == [AttemptOutcome.CRASHED, AttemptOutcome.FAILED, AttemptOutcome.FAILED]
    assert hoarder.attempt - hoarder.forgiven == 2, "the first, which was not alone, does not count"
    for execution in [*neighbours, *later]:
        eventually(lambda execution=execution: ended(execution))
        assert execution.status == Status.COMPLETED and execution.attempt - execution.forgiven == 1
        assert not execution.attempts.filter(outcome=AttemptOutcome.FAILED).exists()
    eventually(lambda: warm.result not in pids(daemons[1]))  # its process was replaced
    assert all(process.poll() is None for process in daemons)


def test_in_a_batch_what_takes_all_memory_fails_and_its_neighbours_do_not(run, daemons) -> None:
    first = run("shares", {"seconds": 1})  # those behind it wait for each other
    batch = [run("shares") for _ in range(3)]
    hoarder = run("shares", {"greedy": True})
    batch += [run("shares") for _ in range(3)]

    eventually(lambda: ended(hoarder))

    assert hoarder.status == Status.FAILED and hoarder.attempt - hoarder.forgiven == 2
    for execution in [first, *batch]:
        eventually(lambda execution=execution: ended(execution))
        assert execution.status == Status.COMPLETED and execution.attempt - execution.forgiven == 1
        assert not execution.attempts.filter(outcome=AttemptOutcome.FAILED).exists()


def test_a_handlers_process_has_limited_memory_and_is_ended_before_others(run, daemons) -> None:
    there = run("together")
    eventually(lambda: ended(there))
    process = Path(f"/proc/{there.result}")

    limits = (process / "limits").read_text()

    [limit] = [line.split()[3] for line in limits.splitlines() if line.startswith("Max data size")]
    assert 300 * 2**20 <= int(limit) < 3_000 * 2**20
    assert int((process / "oom_score_adj").read_text()) >= 500
    parent = (Path(f"/proc/{daemons[1].pid}") / "limits").read_text()
    assert f"Max data size             {limit}" not in parent, "the executor itself is not limited"


def test_an_executor_that_can_make_no_processes_any_more_ends_and_loses_nothing(run, daemons) -> None:
    _, executor = daemons
    first = run("together")
    eventually(lambda: ended(first))
    [nursery] = children(executor.pid)
    [handlers] = children(nursery)

    for pid in (nursery, handlers):
        os.kill(pid, signal.SIGKILL)
    later = run("together")

    eventually(lambda: executor.poll() is not None)
    executor.communicate()
    daemons[1] = start_executor()
    eventually(lambda: ended(later))
    assert later.status == Status.COMPLETED and later.attempt - later.forgiven == 1


def test_an_isolated_task_has_a_process_of_its_own(run) -> None:
    executions = [run("alone"), run("alone"), run("together"), run("together")]

    for execution in executions:
        eventually(lambda execution=execution: ended(execution))

    alone_1, alone_2, together_1, together_2 = (execution.result for execution in executions)
    assert len({alone_1, alone_2, together_1}) == 3 and together_1 == together_2


def test_a_cancelled_handler_that_looks_ends_tidily(run, tmp_path) -> None:
    note = tmp_path / "note"
    execution = run("tidy", {"file": str(note)})
    eventually(lambda: Execution.objects.filter(pk=execution.pk, status=Status.RUNNING))

    services.cancel_job(execution.job, actor=None)

    eventually(lambda: ended(execution))
    assert execution.status == Status.CANCELLED and execution.reason == "the job was cancelled"
    assert note.read_text() == "tidied up"


@pytest.mark.parametrize(("task", "payload"), [("loop", {}), ("nap", {"seconds": 600})])
def test_a_cancelled_handler_that_does_not_look_is_stopped(run, task, payload) -> None:
    execution = run(task, payload, time_limit=600)
    eventually(lambda: Execution.objects.filter(pk=execution.pk, status=Status.RUNNING))

    services.cancel_job(execution.job, actor=None)

    eventually(lambda: ended(execution))
    assert execution.status == Status.CANCELLED and execution.error.startswith("Cancelled")


def freeze(process: subprocess.Popen[str]) -> None:
    """Stop it while it holds no lock. SQLite has but one, and whoever is stopped with it stops everybody."""
    with transaction.atomic():
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)


def test_an_executor_stopped_past_its_lease_cannot_write_and_stops_its_own_work(run, daemons, tmp_path) -> None:
    _, zombie = daemons
    note = tmp_path / "note"
    execution = run("tidy", {"file": str(note)}, lease=1, max_retries=5)
    eventually(lambda: Execution.objects.filter(pk=execution.pk, status=Status.RUNNING))

    freeze(zombie)
    eventually(lambda: Execution.objects.filter(pk=execution.pk, attempts__outcome=AttemptOutcome.UNKNOWN))
    assert not note.exists()
    zombie.send_signal(signal.SIGCONT)

    eventually(note.exists)  # it was told that this is no longer its work
    eventually(lambda: Execution.objects.filter(pk=execution.pk, attempt__gte=2))
    services.cancel_job(execution.job, actor=None)
    eventually(lambda: ended(execution))


@pytest.mark.parametrize("then", ["return", "raise", "nap", "exit"])
def test_what_a_handler_said_outlives_its_process_however_it_ends(run, then) -> None:
    execution = run("talk", {"then": then})

    eventually(lambda: ended(execution))

    assert execution.status == (Status.COMPLETED if then == "return" else Status.FAILED)
    assert [line.text for line in execution.log_lines.filter(attempt=1)] == ["line 0", "line 1", "line 2"]
    assert execution.progress.fraction == 0.7 and execution.progress.message == "nearly"
