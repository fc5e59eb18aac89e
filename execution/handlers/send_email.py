"""Sends mails, all that come together over one connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings

from execution.mail.letters import senders_of, written
from execution.mail.payload import Email
from execution.mail.post import Post
from execution.registry import Run, task
from execution.retry import Cancelled


def mail_server(email: Email) -> str:
    """Who takes our mails, whatever their payload: while it is down, mails wait instead of using up their retries."""
    return f"smtp://{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"


@task("send_email", payload=Email, batch=True, batch_size=100, destination=mail_server, shared_destination=True)
def send_email(emails: list[Email], runs: list[Run]) -> Iterator[dict[str, Any] | BaseException]:
    """Send each mail through the configured server, and tell what it said of each."""
    senders = senders_of({run.tenant_id for email, run in zip(emails, runs, strict=True) if email.sender})
    with Post() as post:
        for email, run in zip(emails, runs, strict=True):
            yield _sent(email, run, senders.get(run.tenant_id, []), post)


def _sent(email: Email, run: Run, senders: list[str], post: Post) -> dict[str, Any] | BaseException:
    if run.cancelled:
        return Cancelled("it was not sent")
    try:
        refused = post.send(written(email, run, senders), last=run.last_attempt)
    except Exception as error:
        return error
    for recipient, answer in refused.items():
        run.log(f"{recipient} was refused: {answer}", level="warning")
    result: dict[str, Any] = {"recipients": [one for one in email.recipients if one not in refused]}
    return result | {"refused": refused} if refused else result
