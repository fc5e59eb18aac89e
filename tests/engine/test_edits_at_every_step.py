"""Whatever is done to a job while a poller is at it, its due time follows the old schedule or the new one, never both.

The poller is stopped between any two of its steps by wrapping the function that takes the step; the act comes from
another thread, with a connection of its own, as it would from another process. Where the poller holds the job's lock
the act waits for it, as it would there too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Any

import pytest
from django.db import connection, connections

from jobs import ledger, services
from jobs.clock import database_now
from jobs.models import Execution, Job
from jobs.states import JobStatus, Status
from scheduling import due as due_module
from scheduling import poller as poller_module
from scheduling.index import get_due_index
from scheduling.poller import Poller
from scheduling.processes import make_poller
from tests.whole.processes import eventually

SECOND = timedelta(seconds=1)
A_MOMENT = 0.3  # seconds: for an act that cannot go on until the poller does
SOON = 3600  # seconds: the old schedule's interval
LATER = 7200  # the new one's


class Stop:
    """Where a poller stands still until the act is done, or has come as far as it can."""

    def __init__(self, act: Callable[[], None], *, locked: bool) -> None:
        self._patience = A_MOMENT if locked else 10
        self._done = Event()
        self._failures: list[BaseException] = []
        self._thread = Thread(target=self._run, args=(act,))
        self.reached = False

    def __call__(self) -> None:
        if not self.reached:
            self.reached = True
            self._thread.start()
            self._done.wait(self._patience)

    def join(self) -> None:
        assert self.reached, "the poller never came to this step"
        self._thread.join(20)
        assert self._done.is_set() and not self._failures, self._failures

    def _run(self, act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as error:
            self._failures.append(error)
        finally:
            connections.close_all()
            self._done.set()


def before(stop: Stop, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **options: Any) -> Any:
        stop()
        return function(*arguments, **options)

    return wrapped


def after(stop: Stop, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **options: Any) -> Any:
        answer = function(*arguments, **options)
        stop()
        return answer

    return wrapped


STEPS: dict[str, Callable[[Poller, Stop, pytest.MonkeyPatch], None]] = {
    "before the lease": lambda poller, stop, patch: patch.setattr(
        poller.index, "lease", before(stop, poller.index.lease)
    ),
    "after the lease": lambda poller, stop, patch: patch.setattr(
        poller.index, "lease", after(stop, poller.index.lease)
    ),
    "in the transaction, before the lock": lambda poller, stop, patch: patch.setattr(
        due_module.ledger, "lock_due", before(stop, ledger.lock_due)
    ),
    "in the transaction, behind the lock": lambda poller, stop, patch: patch.setattr(
        due_module.ledger, "lock_due", after(stop, ledger.lock_due)
    ),
    "in the transaction, all written": lambda poller, stop, patch: patch.setattr(
        due_module.ledger, "record", after(stop, ledger.record)
    ),
    "after the commit": lambda poller, stop, patch: patch.setattr(
        poller_module, "record_due", after(stop, due_module.record_due)
    ),
    "after the settling": lambda poller, stop, patch: patch.setattr(
        poller.index, "settle", after(stop, poller.index.settle)
    ),
    "before the publishing": lambda poller, stop, patch: patch.setattr(
        poller.outbox, "publish", before(stop, poller.outbox.publish)
    ),
    "after the publishing": lambda poller, stop, patch: patch.setattr(
        poller.outbox, "publish", after(stop, poller.outbox.publish)
    ),
}


def early_steps() -> set[str]:
    """Those before the job's lock, which for SQLite is the beginning of the transaction."""
    early = {"before the lease", "after the lease"}
    return early if connection.vendor == "sqlite" else early | {"in the transaction, before the lock"}


def reschedule(job: Job) -> None:
    services.update_job(job, {"schedule": {"type": "interval", "seconds": LATER}}, actor=None)


def advance(job: Job) -> None:
    """A new schedule that is due at once: this very tick may make its run, or the next."""
    now = {"type": "once", "run_at": database_now().isoformat()}
    services.update_job(job, {"schedule": now}, actor=None)


def rename(job: Job) -> None:
    services.update_job(job, {"name": "another"}, actor=None)


def pause(job: Job) -> None:
    services.pause_job(job, actor=None)


def pause_and_resume(job: Job) -> None:
    services.resume_job(services.pause_job(job, actor=None), actor=None)


def delete(job: Job) -> None:
    services.delete_job(job, actor=None)


def cancel(job: Job) -> None:
    services.cancel_job(job, actor=None)


ACTS = (reschedule, advance, rename, pause, pause_and_resume, delete, cancel)


@pytest.fixture
def job(new_job) -> Job:
    """Due a moment ago, by a schedule that has no other run within the hour."""
    job = new_job({"type": "interval", "seconds": SOON})
    due = database_now() - SECOND
    Job.objects.filter(pk=job.pk).update(next_run_at=due, schedule=job.schedule | {"start_at": due.isoformat()})
    get_due_index().put({job.pk: due})
    job.refresh_from_db()
    return job


@contextmanager
def stopping(poller: Poller, step: str, act: Callable[[], None]) -> Iterator[None]:
    stop = Stop(act, locked=step.startswith("in the transaction") and step not in early_steps())
    with pytest.MonkeyPatch.context() as patch:
        STEPS[step](poller, stop, patch)
        yield
        stop.join()


def in_the_index(job: Job) -> bool:
    """Whether the index knows the job to be due, at any time to come."""
    far = database_now() + timedelta(days=1)
    return job.pk in get_due_index().lease(now=far, until=far + SECOND, limit=10)


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
@pytest.mark.parametrize("step", STEPS)
def test_a_due_time_follows_the_old_schedule_or_the_new_one_and_never_both(step, act, job) -> None:
    poller = make_poller()
    poller.tick()  # an index that is new would be filled first
    Execution.objects.all().delete()
    Job.objects.filter(pk=job.pk).update(next_run_at=job.next_run_at, runs=0, status=JobStatus.ACTIVE)
    get_due_index().put({job.pk: job.next_run_at})

    with stopping(poller, step, lambda: act(Job.objects.get(pk=job.pk))):
        poller.tick()
    for _ in range(3):
        poller.tick()
    if act is advance:
        eventually(lambda: poller.tick() >= 0 and Job.objects.get(pk=job.pk).next_run_at is None)

    row = Job.objects.get(pk=job.pk)
    old = job.executions.filter(due_at=job.next_run_at).count()
    new = job.executions.exclude(due_at=job.next_run_at).count()
    match act.__name__:
        case "rename":
            assert (old, new) == (1, 0) and row.name == "another", "its schedule did not change, and nothing is lost"
            assert row.next_run_at == job.next_run_at + timedelta(seconds=SOON) and row.runs == 1
        case "reschedule":
            assert new == 0 and row.schedule["seconds"] == LATER
            assert row.next_run_at == datetime.fromisoformat(row.schedule["start_at"]) + timedelta(seconds=LATER)
            assert row.runs == 0, "what the old schedule made does not count for the new one"
        case "advance":
            assert new == 1 and row.status == JobStatus.FINISHED and row.next_run_at is None
        case "pause":
            assert new == 0 and row.status == JobStatus.PAUSED and row.next_run_at is None
        case "pause_and_resume":
            # What passed during a pause is not made up for: the old due time was made, or it is left out.
            assert new == 0 and row.status == JobStatus.ACTIVE
            assert row.next_run_at == job.next_run_at + timedelta(seconds=SOON) and row.runs == old
        case "delete" | "cancel":
            assert new == 0 and row.next_run_at is None
            assert not job.executions.exclude(status=Status.CANCELLED).exists(), "what waited was cancelled with it"
    assert old <= 1
    if act is not rename:
        assert (old == 0) == (step in early_steps()), "whoever had the row first was heeded"
    assert in_the_index(job) == (row.next_run_at is not None), "the index and the row agree"
