"""Whether notices can be sent somewhere, in the words of the tasks that take such things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from execution.registry import InvalidPayload, registry
from jobs.alerts.kinds import Channel

SECRET = "signing_secret"  # what `http_request` calls it, and what a rule's own is sealed under


def faults_of_target(
    channel: str, *, emails: Sequence[str] = (), url: str = "", secret: str | None = None
) -> dict[str, str]:
    """What is wrong with which of them."""
    if channel == Channel.EMAIL:
        return _refused("send_email", {"to": list(emails), "subject": "-", "body": ""}, {"to": "emails"})
    payload = {"url": url} | ({SECRET: secret} if secret else {})
    return _refused("http_request", payload, {SECRET: "secret"})


def _refused(task: str, payload: dict[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    try:
        registry.get(task).read(payload)
    except InvalidPayload as error:
        found = ((field.partition(".")[0], message) for field, message in error.errors.items())
        return {names.get(field, field): message for field, message in found}
    return {}
