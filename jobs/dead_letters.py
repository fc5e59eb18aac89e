"""What people and API clients do to dead letters: run them again, or let them go.

The FAILED row is the truth, and is changed first; the broker's message is taken out once that
is committed. A message left behind by a crash or an outage in between is `tidy`'s to remove.

Thousands are worked through in chunks, each a transaction with its audit events, so that no
lock is held for long. An act that is broken off has been done to the chunks before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import structlog
from django.db import transaction

from accounts.models import User
from execution.broker import BrokerError, get_broker
from execution.registry import registry
from jobs.clock import database_now
from jobs.models import AuditEvent, Execution
from jobs.models.execution import ExecutionQuerySet
from jobs.states import Status

logger = structlog.get_logger(__name__)

CHUNK = 500  # rows a transaction
MOST_TOLD = 100  # ids an audit event keeps; it always has the count
LONGEST_REASON = 300  # characters
Item = TypeVar("Item")


class SeveralTasks(Exception):
    """One payload was given for executions of several tasks."""


def replay(executions: ExecutionQuerySet, *, actor: User | None, payload: Any = None) -> int:
    """Run the dead ones among `executions` again, from now on and with all their retries; return how many.

    `payload` replaces theirs. It raises UnknownTask, InvalidPayload or SeveralTasks before anything
    is changed. Those whose job was cancelled or deleted are passed over. Of rival replays, each
    execution counts for one.
    """
    found = _find(executions.replayable())
    edited = {}
    if payload is not None and found:
        registry.get(_only_task(found)).read(payload)
        edited = {"payload": payload}
    now = database_now()
    return _act(
        "replay",
        found,
        actor,
        change=lambda chunk: chunk.replay(now, payload),
        before={"status": Status.FAILED},
        after={"status": Status.SCHEDULED, **edited},
    )


def discard(executions: ExecutionQuerySet, *, actor: User | None, reason: str = "") -> int:
    """Let the dead ones among `executions` go; return how many. They stay FAILED, as history."""
    now = database_now()
    reason = reason[:LONGEST_REASON]
    return _act(
        "discard",
        _find(executions.dead()),
        actor,
        change=lambda chunk: chunk.discard(now, reason),
        before={"discarded_at": None},
        after={"discarded_at": now.isoformat(), "reason": reason},
    )


def tidy(limit: int) -> int:
    """Remove messages whose rows are no longer dead, and second ones; return how many. Looks at the oldest `limit`.

    Raises BrokerUnavailable when the broker is out of reach.
    """
    broker = get_broker()
    buried = Counter(broker.buried(limit))
    superfluous = buried - Counter(_still_dead(list(buried)))
    # Should one of these be buried again meanwhile: the oldest message goes, the new one stays.
    return broker.unbury(list(superfluous.elements()))


def _find(executions: ExecutionQuerySet) -> list[tuple[UUID, str]]:
    """Ids and tasks, job by job so that each is in few chunks, oldest first."""
    return list(executions.order_by("job_id", "pk").values_list("pk", "task"))


def _only_task(found: Sequence[tuple[UUID, str]]) -> str:
    tasks = sorted({task for _, task in found})
    if len(tasks) > 1:
        raise SeveralTasks(
            f"A payload fits one task, and these executions are of {len(tasks)}: {', '.join(tasks)}. "
            "Replay those of each task by themselves."
        )
    return tasks[0]


def _act(
    action: str,
    found: Sequence[tuple[UUID, str]],
    actor: User | None,
    *,
    change: Callable[[ExecutionQuerySet], list[Execution]],
    before: dict[str, Any],
    after: dict[str, Any],
) -> int:
    """Do `change` to what was found, as far as it is still dead, chunk by chunk."""
    done: list[UUID] = []
    for chunk in _chunks(found):
        with transaction.atomic():
            changed = change(Execution.objects.filter(pk__in=[pk for pk, _ in chunk]))
            _write_audit(action, changed, actor, before=before, after=after)
        done += [one.pk for one in changed]
        logger.info("dead_letters.act", action=action, done=len(done), of=len(found))
    # Once for all of them: RabbitMQ's queue has to be gone through from its head each time.
    transaction.on_commit(partial(_take_out, done))
    return len(done)


def _write_audit(
    action: str, executions: list[Execution], actor: User | None, *, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """One event a job."""
    of_job: dict[tuple[UUID, UUID], list[str]] = defaultdict(list)
    for one in executions:
        of_job[one.job_id, one.tenant_id].append(str(one.pk))
    events = []
    for (job, tenant), ids in of_job.items():
        which = {"executions": ids[:MOST_TOLD], "count": len(ids)}
        events.append(
            AuditEvent(
                tenant_id=tenant, actor=actor, action=action, job_id=job, before=before | which, after=after | which
            )
        )
    AuditEvent.objects.bulk_create(events)


def _take_out(executions: list[UUID]) -> None:
    """A broker out of reach is no reason to fail: the rows are what counts, and `tidy` removes what is left."""
    try:
        get_broker().unbury(executions)
    except BrokerError as error:
        logger.warning("dead_letters.not_removed", executions=len(executions), error=str(error), remedy="tidied later")


def _still_dead(executions: Sequence[UUID]) -> Iterator[UUID]:
    for chunk in _chunks(executions):
        yield from Execution.objects.dead().filter(pk__in=chunk).values_list("pk", flat=True)


def _chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + CHUNK] for start in range(0, len(items), CHUNK))
