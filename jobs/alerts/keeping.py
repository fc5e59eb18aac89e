"""Keeps incidents as they begin, go on and end, and notes which rules have to tell of them.

Call it in the transaction that holds the watch: then nobody else does, and what is noted and what is remembered of the
look are committed together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from execution.pace import batched
from jobs.alerts.judging import Trouble
from jobs.alerts.kinds import Kind
from jobs.models import AlertRule, Incident, Mention
from jobs.models.incident import LONGEST_TITLE

logger = structlog.get_logger(__name__)

CAN_LAST = (Kind.MISSED, Kind.LATE)  # what a rule may have patience with
CHUNK = 500  # rows a statement


def begin(troubles: Sequence[Trouble], now: datetime) -> None:
    """Open an incident for each that has none, and never had one."""
    known = {
        key
        for some in batched([one.key(now) for one in troubles], CHUNK)
        for key in Incident.objects.filter(key__in=some).values_list("key", flat=True)
    }
    opened = [(_incident(one, now), one) for one in troubles if one.key(now) not in known]
    Incident.objects.bulk_create([incident for incident, _ in opened], batch_size=CHUNK)
    _mention(opened, now)
    _say(logger.warning, "incidents.opened", [incident for incident, _ in opened])


def go_on(incident: Incident, trouble: Trouble) -> None:
    """It has happened again. Who was told of it is told again when that is twice as often as they were told."""
    incident.count += trouble.count
    incident.last_at = trouble.last_at or incident.last_at
    incident.execution, incident.detail = trouble.execution, dict(trouble.detail)
    incident.save(update_fields=["count", "last_at", "execution", "detail"])
    quiet = incident.mentions.filter(tell_at=None, told__gt=0, told__lte=incident.count // 2, rule__enabled=True)
    quiet.update(tell_at=incident.last_at)


def turn_to(incident: Incident, trouble: Trouble) -> None:
    """What it was about is over, and something else keeps it going."""
    Incident.objects.filter(pk=incident.pk).update(execution=trouble.execution)


def end(over: Sequence[Incident], now: datetime, became: Mapping[UUID, str] | None = None) -> None:
    """They are over. Who was told is told so, if the rule wants that; who was still patient never hears of them.

    `became` says of some, by their ids, how they ended.
    """
    outcomes = became or {}
    ended = [one for one in over if one.pk in outcomes]
    for one in ended:
        one.detail["outcome"] = outcomes[one.pk]
    Incident.objects.bulk_update(ended, ["detail"], batch_size=CHUNK)
    for some in batched([one.pk for one in over], CHUNK):
        Incident.objects.filter(pk__in=some).open().update(recovered_at=now)
        mentions = Mention.objects.filter(incident__in=some)
        mentions.filter(told=0, tell_at__gt=now).delete()
        told = mentions.filter(told__gt=0)
        rules = AlertRule.objects.enabled().filter(pk__in=told.values("rule"))
        hear = [rule.pk for rule in rules if rule.wants_recovered]
        told.filter(rule__in=hear).update(tell_at=now)
        told.exclude(rule__in=hear).update(tell_at=None)
    _say(logger.info, "incidents.recovered", over)


def _say(log: Callable[..., None], event: str, incidents: Sequence[Incident]) -> None:
    """One line a kind, however many there are: the first of them stands for all."""
    for kind, count in Counter(one.kind for one in incidents).items():
        first = next(one for one in incidents if one.kind == kind)
        log(event, kind=str(kind), count=count, first=first.title, since=first.since.isoformat())


def _incident(trouble: Trouble, now: datetime) -> Incident:
    return Incident(
        kind=trouble.kind,
        tenant_id=trouble.tenant,
        job_id=trouble.job,
        subject=trouble.subject,
        key=trouble.key(now),
        title=trouble.title[:LONGEST_TITLE],
        since=trouble.since,
        last_at=trouble.last_at or trouble.since,
        count=trouble.count,
        execution=trouble.execution,
        detail=dict(trouble.detail),
        opened_at=now,
    )


def _mention(opened: Collection[tuple[Incident, Trouble]], now: datetime) -> None:
    """Whoever made a rule later hears of none of these."""
    tenants = {trouble.tenant for _, trouble in opened}
    rules = AlertRule.objects.enabled()
    rules = list(rules.for_operators()) + list(rules.filter(tenant__in=tenants - {None}))
    mentions = [
        Mention(rule=rule, incident=incident, tell_at=_tell_at(rule, trouble, now))
        for incident, trouble in opened
        for rule in rules
        if rule.wants(trouble.kind, trouble.tenant, trouble.job, trouble.tags)
    ]
    Mention.objects.bulk_create(mentions, batch_size=CHUNK)


def _tell_at(rule: AlertRule, trouble: Trouble, now: datetime) -> datetime:
    patience = timedelta(seconds=rule.patience if trouble.kind in CAN_LAST else 0)
    return max(now, trouble.since + patience)
