"""Gathers what each rule has to tell into one notice, no more often than the rule allows.

Call it in the transaction that holds the watch. A notice is a row: from then on it is the courier's to deliver, and
what it tells is told.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from django.db.models import BooleanField, Case, Count, ExpressionWrapper, OuterRef, Q, Subquery, Value, When

from jobs.alerts.kinds import OF_THE_SYSTEM
from jobs.alerts.wording import RECOVERED
from jobs.models import AlertRule, Incident, Mention, Notice
from jobs.models.incident import MentionQuerySet

MOST_TOLD = 20  # incidents of a notice that it has more of than their number
ORDER = (*OF_THE_SYSTEM, "missed", "late", "failed")


def compose(now: datetime) -> list[Notice]:
    """A notice for each rule that has something to tell and whose pause is over."""
    waiting = Mention.objects.due(now).order_by().values("rule").distinct()
    rules = AlertRule.objects.enabled().filter(pk__in=waiting).select_related("tenant")
    return [_written(rule, now) for rule in rules if rule.may_speak(now)]


def write_test(rule: AlertRule, now: datetime) -> Notice:
    """A notice that tells of nothing. One that is still on its way is enough."""
    content = {"test": True, "counts": {}, "incidents": [], "more": 0} | _about(rule)
    under_way = rule.notices.filter(try_at__isnull=False, attempts=0).first()
    if under_way is not None and under_way.content.get("test"):
        return under_way
    return Notice.objects.create(rule=rule, content=content, created_at=now, try_at=now)


def _written(rule: AlertRule, now: datetime) -> Notice:
    """All that is due, in as many statements for very many as for one."""
    due = rule.mentions.due(now)
    notice = Notice.objects.create(rule=rule, content=_told(rule, due), created_at=now, try_at=now)
    happened = Incident.objects.filter(pk=OuterRef("incident")).values("count")
    due.update(told=Subquery(happened), tell_at=None)
    AlertRule.objects.filter(pk=rule.pk).update(told_at=now)
    return notice


def _told(rule: AlertRule, due: MentionQuerySet) -> dict[str, Any]:
    """The notice as it is sent: how many of what, and the first of them."""
    due = due.annotate(over=ExpressionWrapper(_told_as_over(rule), BooleanField()))
    counts: Counter[str] = Counter()
    for kind, over, count in due.order_by().values_list("incident__kind", "over").annotate(Count("pk")):
        counts[RECOVERED if over else kind] += count
    place = Case(*(When(incident__kind=kind, then=Value(place)) for place, kind in enumerate(ORDER)))
    first = due.select_related("incident__tenant").order_by("over", place, "tell_at", "incident")[:MOST_TOLD]
    return _about(rule) | {
        "counts": dict(counts),
        "incidents": [_line(rule, one, over=one.over) for one in first],
        "more": max(0, counts.total() - MOST_TOLD),
    }


def _told_as_over(rule: AlertRule) -> Q:
    """What was over before it could be told is, to a rule that does not ask for `recovered`, what it was."""
    over = Q(incident__recovered_at__isnull=False)
    return over if rule.wants_recovered else over & Q(told__gt=0)


def _about(rule: AlertRule) -> dict[str, Any]:
    return {
        "rule": {"id": str(rule.pk), "name": rule.name},
        "tenant": {"id": str(rule.tenant_id), "name": rule.tenant.name} if rule.tenant else None,
    }


def _line(rule: AlertRule, mention: Mention, *, over: bool) -> dict[str, Any]:
    one = mention.incident
    ended = one.recovered_at
    return {
        "id": str(one.pk),
        "kind": one.kind,
        "state": RECOVERED if over else "again" if mention.told else "new",
        "title": one.title,
        "job": str(one.job_id) if one.job_id else None,
        # To a tenant its own name says nothing; who runs Punctual has many.
        "tenant": one.tenant.name if rule.tenant_id is None and one.tenant else None,
        "task": one.detail.get("task"),
        "execution": str(one.execution) if one.execution else None,
        "since": one.since.isoformat(),
        "last_at": one.last_at.isoformat(),
        "count": one.count,
        "cause": one.detail.get("cause", ""),
        "error": one.detail.get("error", ""),
        "outcome": one.detail.get("outcome", ""),
        "recovered_at": ended.isoformat() if ended else None,
        "lasted": (ended - one.since).total_seconds() if ended else None,
    }
