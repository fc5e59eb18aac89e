"""A careful replay: a few dead letters are tried first, and the others follow by themselves if all of those complete.

How far it has come is kept in a row, and each step is one transaction with what it does: it goes on
after any crash, wherever that happened, and does nothing twice. Recoverers look after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction

from accounts.models import Tenant, User
from execution.registry import InvalidPayload, registry
from jobs.clock import database_now
from jobs.dead_letters import (
    CHUNK,
    MOST_AT_ONCE,
    REFUSALS,
    Found,
    find,
    given,
    replay_these,
    still_dead,
    take_out_later,
)
from jobs.models import Execution, Replay
from jobs.models.execution import ExecutionQuerySet
from jobs.sealing import CannotOpen, get_seal
from jobs.states import FINAL, ReplayState, Status
from scheduler_project.origin import current_origin

logger = structlog.get_logger(__name__)

MOST_STEPS = 20  # in one go, so that whoever looks after replays gets to its other work


def replay_carefully(
    executions: ExecutionQuerySet, *, canaries: int, tenant: Tenant, actor: User | None, payload: Any = None
) -> Replay:
    """Replay the first `canaries` of the dead ones among `executions`; the others follow if all of those complete.

    Raises what `dead_letters.replay` does. The others are those that are dead now: what dies later is left alone.
    """
    found = given(find(executions.for_tenant(tenant).replayable(), MOST_AT_ONCE), payload)
    now = database_now()
    oldest_first = sorted(pk for pk, _ in found)
    with transaction.atomic():
        tried = _replay_first(oldest_first, canaries, actor=actor, payload=payload, now=now)
        first = set(tried)
        replay = Replay.objects.create(
            tenant=tenant,
            actor=actor,
            payload=_kept(found, payload, tenant),
            canaries=[str(one) for one in tried],
            # Job by job, so that each is told of in few audit events.
            others=[str(pk) for pk, _ in found if pk not in first],
            look_at=now,
            created_at=now,
            **current_origin()._asdict(),
        )
        take_out_later(tried)
    return replay


def look_after(patience: timedelta) -> int:
    """Take replays that are not over a step further; return how many steps that were. Any number may do so at once.

    One whose canaries still run is looked at again after `patience`.
    """
    steps = 0
    while steps < MOST_STEPS and _step(database_now(), patience):
        steps += 1
    return steps


def _step(now: datetime, patience: timedelta) -> bool:
    with transaction.atomic():
        ready = Replay.objects.to_look_at(now).select_for_update(skip_locked=True, no_key=True, of=("self",))
        replay = ready.first()
        if replay is None:
            return False
        match ReplayState(replay.state):
            case ReplayState.TRYING:
                return _look_at_canaries(replay, now, patience)
            case ReplayState.GOING_ON:
                _replay_more(replay, now)
    return True


def _look_at_canaries(replay: Replay, now: datetime, patience: timedelta) -> bool:
    """Whether they have all ended, one way or another."""
    rows = Execution.objects.filter(pk__in=replay.canaries).only("status", "error", "reason").order_by("pk")
    found = {str(one.pk): one for one in rows}
    for pk in replay.canaries:
        if bad := _fault(pk, found.get(pk)):
            replay.stop(bad, now)
            logger.warning("dead_letters.replay_stopped", replay=str(replay.pk), reason=bad)
            return True
    if all(one.status == Status.COMPLETED for one in found.values()):
        replay.go_on(now)
        return True
    replay.look_again(now + patience)
    return False


def _fault(pk: str, canary: Execution | None) -> str:
    """Why the others must not follow this one; empty when it completed, or still may."""
    if canary is None:
        return f"{pk} is no longer there."
    if canary.status not in FINAL or canary.status == Status.COMPLETED:
        return ""
    return f"{pk} ended as {canary.status}: {canary.error or canary.reason}"


def _replay_more(replay: Replay, now: datetime) -> None:
    """The next chunk of the others, together with the note that it was done."""
    chunk = [UUID(pk) for pk in replay.others[replay.gone_through : replay.gone_through + CHUNK]]
    if chunk:
        try:
            with transaction.atomic():
                payload = get_seal().opened(replay.payload, replay.tenant_id)
                replayed = replay_these(chunk, actor=replay.actor, payload=payload, now=now, origin=replay.origin)
        except (*REFUSALS, InvalidPayload, CannotOpen) as error:
            # It could be given when it was asked for. If this escaped, it would hold up the replays of all tenants.
            replay.stop(str(error), now)
            logger.warning("dead_letters.replay_stopped", replay=str(replay.pk), reason=str(error))
            return
        replay.advance(gone_through=len(chunk), replayed=len(replayed), now=now)
    if replay.gone_through >= len(replay.others):
        replay.finish(now)
        # Once for all of them: RabbitMQ's queue is gone through from its head each time.
        others = [UUID(pk) for pk in replay.others]
        dead = set(still_dead(others))
        take_out_later([pk for pk in others if pk not in dead])


def _kept(found: Found, payload: Any, tenant: Tenant) -> Any:
    """The payload as it waits for its turn: its secrets sealed, its marks as they are."""
    if payload is None or not found:
        return None
    return get_seal().sealed(payload, tenant.pk, registry.get(found[0][1]).secrets)


def _replay_first(ids: Sequence[UUID], count: int, *, actor: User | None, payload: Any, now: datetime) -> list[UUID]:
    """Replay `count` of these, passing over those that somebody else was faster with."""
    replayed: list[UUID] = []
    place = 0
    while len(replayed) < count and place < len(ids):
        chunk = ids[place : place + count - len(replayed)]
        place += len(chunk)
        replayed += [
            one.pk for one in replay_these(chunk, actor=actor, payload=payload, now=now, origin=current_origin())
        ]
    return replayed
