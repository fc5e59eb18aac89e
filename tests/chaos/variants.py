"""Deliberate defects, one at a time, to show that the checker would see them. Product code is never changed.

Each function breaks one promise inside the process it is called in. Where Punctual has a second net under the first,
the variant takes that away too, and says so: otherwise nothing would be wrong, and nothing to be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from datetime import timedelta
from inspect import getsource
from types import ModuleType
from typing import Any
from uuid import UUID, uuid4

FOREVER = timedelta(days=1)


def apply(name: str) -> None:
    VARIANTS[name]()


def pop_without_lease() -> None:
    """Taking a due job off the index removes it instead of hiding it, and no sweep brings it back."""
    from scheduling.index import redis

    redis.LEASE = _without(redis.LEASE, "redis.call('ZADD', KEYS[2], unpack(leased))")
    _no_sweep()


def settle_before_record() -> None:
    """The lease ends before the execution is written, and no sweep finds the job."""
    from scheduling import poller
    from scheduling.due import record_due

    def tick(self: Any) -> int:
        now = self.clock.now()
        leased = self._lease(now)
        if leased:
            self.index.settle(dict.fromkeys(leased))
            recorded = record_due(
                leased, now=now, misfire_grace=self.misfire_grace, publish_patience=self.outbox.publish_patience
            )
            self.index.put({job: at for job, at in recorded.next_due.items() if at})
            self.outbox.send(recorded.executions)
        return len(leased)

    poller.Poller.tick = tick  # type: ignore[method-assign]
    _no_sweep()


def publish_after_marking() -> None:
    """Executions are marked as queued first, and published then: a row may claim a message nobody sent."""
    from execution import outbox
    from jobs import ledger

    def publish(self: Any, executions: Any, ahead: int = 0) -> list[Any]:
        now = self.clock.now()
        ledger.mark_queued([(one.id, one.attempt) for one in executions], now=now, wake_at=now + FOREVER)
        self._hand_over(self.broker.publish, outbox.pack(executions, self.pace.bundle, ahead))
        return []

    outbox.Outbox.publish = publish  # type: ignore[method-assign]


def ack_before_claim() -> None:
    """The message is acknowledged when it arrives, not when the claim is committed."""
    from execution.broker.rabbitmq.inbox import RabbitMQInbox

    original = RabbitMQInbox.take

    @contextmanager
    def take(self: Any, limit: int, *, wait: timedelta, **more: Any) -> Any:
        with original(self, limit, wait=wait, **more) as offered:
            pass
        if offered:
            self._link.ask(lambda connection, future: future.set_result(None), timeout=5)  # the ack is out
        yield offered

    RabbitMQInbox.take = take  # type: ignore[method-assign]


def no_fencing() -> None:
    """An outcome is taken from whoever brings it, whichever attempt it is of; nor does a lost lease stop its worker."""
    from execution.executor import Executor
    from jobs.ledger import settling

    Executor._lose = lambda self, attempts: None
    settling.HELD = "true"
    _rewrite(settling, "RETURNING id, attempt", "RETURNING id, r.mine")


def attempt_counted_at_end() -> None:
    """The attempt is counted when it ends: two workers can hold the same number."""
    from jobs.ledger import claiming, settling

    _rewrite(claiming, "attempt = e.attempt + 1, started_at", "started_at")
    for first in ("status = %(completed)s", "error = r.complaint"):
        _rewrite(settling, f"SET {first}", f"SET attempt = attempt + 1, {first}")


def recoverer_off() -> None:
    """Nobody looks after what stopped moving."""
    from execution.recoverer import Recoverer

    Recoverer.tick = lambda self: 0  # type: ignore[method-assign]


def no_derived_id() -> None:
    """Executions get random ids, and the poller records what it saw when it leased: the row is not asked again."""
    from django.db import transaction

    from jobs import ledger
    from jobs.ledger import recording
    from jobs.models import Job
    from scheduling import due, poller
    from scheduling.index.redis import RedisDueIndex

    recording.execution_id = lambda *identity: uuid4()
    seen: dict[UUID, tuple[Any, ...]] = {}
    original = RedisDueIndex.lease
    columns = ("pk", "tenant_id", "task", "priority", "next_run_at")

    def lease(self: Any, **options: Any) -> list[UUID]:
        jobs = original(self, **options)
        seen.update((row[0], row) for row in Job.objects.filter(pk__in=jobs).values_list(*columns))
        return jobs

    def record_due(leased: Any, *, now: Any, publish_patience: Any, **rest: Any) -> due.Recorded:
        executions = [ledger.NewExecution(*seen[job]) for job in leased if seen[job][-1] is not None]
        with transaction.atomic():
            next_runs = [ledger.NextRun(one.job_id, None) for one in executions]
            ledger.record(executions, next_runs, now=now, wake_at=now + publish_patience)
        return due.Recorded(executions, dict.fromkeys(leased), [])

    RedisDueIndex.lease = lease  # type: ignore[method-assign]
    poller.record_due = record_due


def claim_without_guard() -> None:
    """A claim takes whatever it is offered, in whatever state that is."""
    from jobs.ledger import claiming

    claiming.waits = lambda table: "true"


def next_run_not_in_same_transaction() -> None:
    """The jobs' next runs are committed on their own, before the executions are written."""
    from django.db import connection

    from jobs.ledger import recording

    original = recording.run

    def run(statement: str, columns: Any, rows: Any, **rest: Any) -> Any:
        answer = original(statement, columns, rows, **rest)
        if "UPDATE jobs_job" in statement:
            connection.connection.commit()
        return answer

    recording.run = run


def heartbeat_off() -> None:
    """Leases are not extended while a handler runs."""
    from execution.heart import Heart

    Heart.start = Heart.stop = lambda self: None  # type: ignore[method-assign]


def no_wipe_marker() -> None:
    """An emptied Redis is taken for one with nothing due, and no sweep helps out."""
    from scheduling.index import redis

    redis.LEASE = _without(redis.LEASE, "if left == -2 then return false end")
    _no_sweep()


def retry_without_wake_at() -> None:
    """A failed attempt says nothing of when its retry is overdue: only the broker knows of it."""
    from jobs.ledger import settling

    _rewrite(settling, "THEN r.wake END", "THEN NULL END")


def lease_of_a_day() -> None:
    """The lease outlives every patience: a killed worker's work stays its own."""
    from jobs import ledger

    original = ledger.claim

    def claim(ids: Any, *, now: Any, until: Any, **rest: Any) -> Any:
        return original(ids, now=now, until=now + FOREVER, **rest)

    ledger.claim = claim
    heartbeat_off()  # a beat would set a sensible end again


def cohort_forgotten() -> None:
    """A cohort is struck off the list, and what has not completed of it is not put there in its place."""
    from jobs.ledger import shelving

    _rewrite(shelving, "SET fresh = false", "SET fresh = fresh")


def _no_sweep() -> None:
    from scheduling import poller

    poller.restore_overdue = lambda *arguments, **options: 0


def _without(script: str, what: str) -> str:
    if what not in script:
        raise LookupError(f"The script has changed: it does not say {what!r} any more.")
    return script.replace(what, "")


def _rewrite(ledger: ModuleType, old: str, new: str) -> None:
    """Change the statements of a part of the ledger."""
    if old not in getsource(ledger):
        raise LookupError(f"{ledger.__name__} has changed: nothing there says {old!r} any more.")
    for name in {"run", "change"} & vars(ledger).keys():
        setattr(ledger, name, _rewriting(getattr(ledger, name), old, new))


def _rewriting(original: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    def execute(statement: str, columns: Any, rows: Any, **rest: Any) -> Any:
        return original(statement.replace(old, new), columns, rows, **rest)

    return execute


VARIANTS: dict[str, Callable[[], None]] = {
    variant.__name__: variant
    for variant in (
        pop_without_lease,
        settle_before_record,
        publish_after_marking,
        ack_before_claim,
        no_fencing,
        attempt_counted_at_end,
        recoverer_off,
        no_derived_id,
        claim_without_guard,
        next_run_not_in_same_transaction,
        heartbeat_off,
        no_wipe_marker,
        retry_without_wake_at,
        lease_of_a_day,
        cohort_forgotten,
    )
}
