"""Whoever runs Punctual, as the settings name them: rules of nobody's tenant, so that they are told like all others."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from jobs.alerts.kinds import FOR_OPERATORS, Channel, Wish
from jobs.alerts.targets import faults_of_target
from jobs.models import AlertRule

BY_MAIL, BY_WEBHOOK = UUID(int=1), UUID(int=2)


def keep_contacts(now: datetime) -> None:
    """Have the rules say what the settings say. Mostly they do. Call it in the transaction that holds the watch."""
    known = {rule.pk: rule for rule in AlertRule.objects.for_operators()}
    for pk, wanted in _wanted().items():
        rule = known.get(pk)
        if rule is None and wanted["enabled"]:
            AlertRule.objects.create(pk=pk, created_at=now, **wanted)
        elif rule is not None and any(getattr(rule, name) != value for name, value in wanted.items()):
            AlertRule.objects.filter(pk=pk).update(**wanted)
            if not wanted["enabled"]:
                rule.forget()


def undeliverable(emails: list[str], url: str, secret: str) -> list[str]:
    """What is wrong with these settings: nobody would hear, and nobody would say so."""
    faults = faults_of_target(Channel.EMAIL, emails=emails) if emails else {}
    if url:
        faults |= faults_of_target(Channel.WEBHOOK, url=url, secret=secret)
    names = {"emails": "ALERT_EMAILS", "url": "ALERT_WEBHOOK", "secret": "ALERT_WEBHOOK_SECRET"}
    return [f"{names[field]}: {message}" for field, message in faults.items()]


def _wanted() -> dict[UUID, dict[str, Any]]:
    alike = {"kinds": [*FOR_OPERATORS, Wish.RECOVERED], "pause": settings.ALERT_PAUSE.total_seconds()}
    emails, url = list(settings.ALERT_EMAILS), settings.ALERT_WEBHOOK
    return {
        BY_MAIL: {"name": "ALERT_EMAILS", "channel": Channel.EMAIL, "emails": emails, "enabled": bool(emails), **alike},
        BY_WEBHOOK: {"name": "ALERT_WEBHOOK", "channel": Channel.WEBHOOK, "url": url, "enabled": bool(url), **alike},
    }
