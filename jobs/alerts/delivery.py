"""Hands a notice over, by mail or to a webhook, the same ways that tasks use: guarded, signed, one idempotency key.

Nothing here asks the database, so that many can be handed over at once.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings

from execution.handlers.http_request import http_request
from execution.mail.letters import written
from execution.mail.post import Post
from execution.registry import InvalidPayload, registry
from execution.retry import GiveUpNow
from execution.run import NOBODY, Run
from jobs.alerts.kinds import Channel
from jobs.alerts.targets import SECRET
from jobs.alerts.wording import subject_of, text_of
from jobs.models import AlertRule, Notice
from jobs.sealing import get_seal

TIMEOUT = 10.0  # seconds for a webhook's answer: it has only to take the notice


def deliver(notice: Notice, *, last: bool) -> str:
    """Send it to whoever its rule names; return what there is to complain about. Raises what a handler would."""
    run = Run(notice.pk, notice.attempts, notice.rule.tenant_id or NOBODY)
    try:
        if notice.rule.channel == Channel.WEBHOOK:
            http_request(_call(notice), run)
            return ""
        with Post() as post:
            refused = post.send(written(_email(notice), run, ()), last=last)
    except InvalidPayload as error:  # what was allowed when the rule was made may be no longer
        raise GiveUpNow(str(error)) from error
    return "; ".join(f"{recipient} was refused: {answer}" for recipient, answer in refused.items())


def as_sent(notice: Notice) -> dict[str, Any]:
    """What a webhook is sent."""
    return {
        "type": "punctual.test" if notice.content.get("test") else "punctual.alert",
        "timestamp": notice.created_at.isoformat(),
        "data": {"notice": str(notice.pk), **notice.content},
    }


def _call(notice: Notice) -> Any:
    payload = {"url": notice.rule.url, "body": as_sent(notice), "timeout": TIMEOUT}
    if own := _secret(notice.rule):
        payload[SECRET] = own
    return registry.get("http_request").read(payload)


def _secret(rule: AlertRule) -> str:
    """The rule's own; of the settings' webhook, theirs. Without one, the tenant's is used."""
    if rule.tenant_id is None:
        return settings.ALERT_WEBHOOK_SECRET
    return get_seal().opened(rule.sealed, rule.tenant_id)[SECRET] if rule.sealed else ""


def _email(notice: Notice) -> Any:
    return registry.get("send_email").read(
        {
            "to": notice.rule.emails,
            "subject": subject_of(notice.content),
            "body": text_of(notice.content),
            "headers": {"Auto-Submitted": "auto-generated"},
        }
    )
