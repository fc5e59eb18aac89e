"""Dead letters: what they have in common, and what people and API clients do to them: run them again, or let them go.

The FAILED row is the truth, and is changed first; the broker's message is taken out once that
is committed. A message left behind by a crash or an outage in between is `tidy`'s to remove.

Thousands are worked through in chunks, each a transaction with its audit events, so that no
lock is held for long. An act that is broken off has been done to the chunks before.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import CharField, Count, Max, Min
from django.db.models.functions import Cast
from pydantic_core import to_json

from accounts.mail_rights import MailRefused
from accounts.models import Tenant, User
from accounts.quota import QuotaExceeded
from execution.broker import BrokerError, get_broker
from execution.registry import Task, UnknownTask, registry
from jobs import quotas
from jobs.clock import database_now
from jobs.fingerprints import fingerprint
from jobs.models import AuditEvent, Execution
from jobs.models.execution import MAX_COPIED, ExecutionQuerySet
from jobs.payloads import Stored, accepted, has_marks, usable_task
from jobs.redaction import redacted
from jobs.states import Status
from scheduler_project.origin import Origin, current_origin

logger = structlog.get_logger(__name__)

CHUNK = 500  # rows a transaction
FEW = 10  # rows that are read with their payloads, which may be long
MOST_TOLD = 100  # ids an audit event keeps; it always has the count
LONGEST_REASON = 300  # characters
MOST_AT_ONCE = 10_000  # executions that one act by somebody who waits for it is done to: some seconds
MAX_FITTED = 200  # executions that keep secrets of their own: the payload is checked for each of them
MOST_GROUPS = 100  # causes that are listed, the most frequent ones
REFUSALS = (UnknownTask, MailRefused, QuotaExceeded)  # why a payload is not given, besides InvalidPayload
Found = Sequence[tuple[UUID, str]]  # ids and tasks
Item = TypeVar("Item")


class SeveralTasks(Exception):
    """One payload was given for executions of several tasks."""


class Group(NamedTuple):
    """Dead letters with one cause."""

    fingerprint: str | None  # None for a moment after an upgrade: see `name_causes`
    task: str
    error: str  # of the latest of them
    count: int
    first: datetime  # when the first of them was given up
    last: datetime
    latest: UUID  # of them


def groups(tenant: Tenant | None, *, task: str = "", job: UUID | None = None, most: int = MOST_GROUPS) -> list[Group]:
    """The dead letters by cause, most frequent first; without a tenant, those of all.

    Only the dead are counted, by an index that has no others, so the length of the history does not matter.
    """
    dead = Execution.objects.dead().order_by()
    if tenant is not None:
        dead = dead.for_tenant(tenant)
    if task:
        dead = dead.filter(task=task)
    if job is not None:
        dead = dead.filter(job=job)
    # PostgreSQL knows no greatest id, but a greatest text: ids sort by time either way.
    counted = dead.values("fingerprint", "task").annotate(
        count=Count("pk"), first=Min("failed_at"), last=Max("failed_at"), latest=Max(Cast("pk", CharField()))
    )
    found = list(counted.order_by("-count", "-last")[:most])
    errors = dict(Execution.objects.filter(pk__in=[one["latest"] for one in found]).values_list("pk", "error"))
    return [Group(**one | {"latest": UUID(one["latest"]), "error": errors[UUID(one["latest"])]}) for one in found]


def name_causes(limit: int) -> int:
    """Note the cause of dead letters whose executor was too old to do it; return of how many."""
    unnamed = list(Execution.objects.dead().filter(fingerprint=None).only("task", "error")[:limit])
    for one in unnamed:
        Execution.objects.dead().filter(pk=one.pk).update(fingerprint=fingerprint(one.task, one.error))
    return len(unnamed)


def replay(executions: ExecutionQuerySet, *, actor: User | None, payload: Any = None, most: int | None = None) -> int:
    """Run the dead ones among `executions` again, from now on and with all their retries; return how many.

    `payload` replaces theirs, of as many as one act may give it to. It raises UnknownTask, MailRefused, InvalidPayload,
    QuotaExceeded or SeveralTasks before anything is changed. A quota that is reached later ends the replay; the others
    stay dead. Those whose job was cancelled or deleted are passed over. Of rival replays, each execution counts for
    one.
    """
    found = given(find(executions.replayable(), most), payload)
    told = {"actor": actor, "payload": payload, "now": database_now(), "origin": current_origin()}
    return _act("replay", found, lambda chunk: replay_these(chunk, **told))


def discard(executions: ExecutionQuerySet, *, actor: User | None, reason: str = "", most: int | None = None) -> int:
    """Let the dead ones among `executions` go; return how many. They stay FAILED, as history."""
    now = database_now()
    reason = reason[:LONGEST_REASON]

    def discard_these(chunk: Sequence[UUID]) -> list[Execution]:
        discarded = Execution.objects.filter(pk__in=chunk).discard(now, reason)
        after = {"discarded_at": now.isoformat(), "reason": reason}
        _write_audit("discard", discarded, actor, before={"discarded_at": None}, after=after)
        return discarded

    return _act("discard", find(executions.dead(), most), discard_these)


def replay_these(
    chunk: Sequence[UUID], *, actor: User | None, payload: Any, now: datetime, origin: Origin
) -> list[Execution]:
    """Have those that are still dead run again, and write it down. Call it in a transaction.

    Raises what `replay` does.
    """
    after = {"status": Status.SCHEDULED} | ({} if payload is None else {"payload": redacted(payload)})
    replayed: list[Execution] = []
    for ids, fitted in [(chunk, None)] if payload is None else _fitted(chunk, payload):
        replayed += Execution.objects.filter(pk__in=ids).replay(now, fitted, origin)
    for tenant, count in sorted(Counter(one.tenant_id for one in replayed).items()):
        quotas.Room(Tenant.objects.get(pk=tenant)).take_runs(count, now=now)
    _write_audit("replay", replayed, actor, before={"status": Status.FAILED}, after=after)
    return replayed


def given(found: Found, payload: Any) -> Found:
    """Those of `found` that one act may give the payload to; without one, all of them. Raises what `replay` does."""
    if payload is None or not found:
        return found
    marked = has_marks(payload, registry.get(_only_task(found)))
    most = max(1, MAX_COPIED // len(to_json(payload)))
    found = found[: min(most, MAX_FITTED) if marked else most]
    for chunk in chunks(found) if marked else [found[:1]]:
        for _ in _fitted([pk for pk, _ in chunk], payload):
            pass
    return found


def _fitted(ids: Sequence[UUID], payload: Any) -> Iterator[tuple[list[UUID], Any]]:
    """The payload as it is stored for these executions: each keeps the secrets of its own that a mark stands for."""
    alike: dict[tuple[UUID, str], list[UUID]] = defaultdict(list)
    found = Execution.objects.filter(pk__in=ids).order_by("job_id", "pk")
    for pk, tenant, task in found.values_list("pk", "tenant_id", "task"):
        alike[tenant, task].append(pk)
    for (tenant, task), of_them in alike.items():
        owner, wanted = Tenant.objects.get(pk=tenant), usable_task(task, tenant)
        if has_marks(payload, wanted):
            of_each = _with_secrets(of_them, payload, wanted, owner)
        else:  # their own payloads are not even read
            of_each = iter([(of_them, accepted(wanted, payload, tenant=tenant))])
        for those, fitted in of_each:
            quotas.check_payload(owner, fitted)
            yield those, fitted


def _with_secrets(ids: Sequence[UUID], payload: Any, task: Task, tenant: Tenant) -> Iterator[tuple[list[UUID], Any]]:
    """The payload for each of these, with its own secrets. Few are read at once: they may be long."""
    for few in chunks(ids, FEW):
        rows = Execution.objects.filter(pk__in=few).select_related("job").order_by("job_id", "pk")
        own = rows.only("payload", "job__payload", "job__task")
        # The job of a dead letter that 0.1.0 left may have another task by now.
        for (stored_for, text), those in groupby(
            own, key=lambda row: (row.job.task if row.payload is None else task.name, json.dumps(row.effective_payload))
        ):
            stored = Stored(stored_for, json.loads(text))
            yield [one.pk for one in those], accepted(task, payload, tenant=tenant.pk, stored=stored)


def find(executions: ExecutionQuerySet, most: int | None = None) -> Found:
    """Ids and tasks, job by job so that each is in few chunks, oldest first."""
    return list(executions.order_by("job_id", "pk").values_list("pk", "task")[:most])


def tidy(limit: int) -> int:
    """Remove messages whose rows are no longer dead, and second ones; return how many. Looks at the oldest `limit`.

    Raises BrokerUnavailable when the broker is out of reach.
    """
    broker = get_broker()
    buried = Counter(broker.buried(limit))
    superfluous = buried - Counter(still_dead(list(buried)))
    # Should one of these be buried again meanwhile: the oldest message goes, the new one stays.
    return broker.unbury(list(superfluous.elements()))


def _only_task(found: Found) -> str:
    tasks = sorted({task for _, task in found})
    if len(tasks) > 1:
        raise SeveralTasks(
            f"A payload fits one task, and these executions are of {len(tasks)}: {', '.join(tasks)}. "
            "Replay those of each task by themselves."
        )
    return tasks[0]


def _act(action: str, found: Found, change: Callable[[Sequence[UUID]], list[Execution]]) -> int:
    """Do `change` to what was found, as far as it is still dead, chunk by chunk."""
    done: list[UUID] = []
    for chunk in chunks(found):
        try:
            with transaction.atomic():
                changed = change([pk for pk, _ in chunk])
        except QuotaExceeded:
            if not done:
                raise
            break  # the chunks before are committed: return their number instead of an error that hides it
        done += [one.pk for one in changed]
        logger.info("dead_letters.act", action=action, done=len(done), of=len(found))
    # Once for all of them: RabbitMQ's queue has to be gone through from its head each time.
    take_out_later(done)
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


def take_out_later(executions: list[UUID]) -> None:
    """Take their messages out of the broker's queue once what was done to them is committed."""
    transaction.on_commit(partial(_take_out, executions))


def _take_out(executions: list[UUID]) -> None:
    """A broker out of reach is no reason to fail: the rows are what counts, and `tidy` removes what is left."""
    try:
        get_broker().unbury(executions)
    except BrokerError as error:
        logger.warning("dead_letters.not_removed", executions=len(executions), error=str(error), remedy="tidied later")


def still_dead(executions: Sequence[UUID]) -> Iterator[UUID]:
    for chunk in chunks(executions):
        yield from Execution.objects.dead().filter(pk__in=chunk).values_list("pk", flat=True)


def chunks(items: Sequence[Item], size: int | None = None) -> Iterator[Sequence[Item]]:
    size = size or CHUNK
    return (items[start : start + size] for start in range(0, len(items), size))
