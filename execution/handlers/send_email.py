"""Sends mails, all that come together over one connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from accounts import mail_rates
from accounts.mail_rights import UNVERIFIED, MailRights, check_may_mail, mail_rights
from execution.destinations import MustWait
from execution.mail.letters import written
from execution.mail.meter import MAX_WORK, Meter
from execution.mail.payload import Email
from execution.mail.post import Post
from execution.registry import Run, task
from execution.retry import Cancelled, GiveUpNow
from jobs.clock import DatabaseClock

SHARE = MAX_WORK // 2  # units of work of one tenant's templates in a batch: some tenths of a second
NEXT_BATCH = timedelta(seconds=1)
CLOCK = DatabaseClock(or_own=True)


def mail_server(email: Email) -> str:
    """Who takes our mails, whatever their payload: while it is down, mails wait instead of using up their retries."""
    return f"smtp://{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"


@task(
    "send_email",
    payload=Email,
    batch=True,
    batch_size=100,
    destination=mail_server,
    shared_destination=True,
    check_tenant=check_may_mail,
)
def send_email(emails: list[Email], runs: list[Run]) -> Iterator[dict[str, Any] | BaseException]:
    """Send each mail through the configured server, and tell what it said of each."""
    if settings.MAIL_RATE_PER_RECIPIENT:  # first: nobody goes on with a generator that has answered for all
        mail_rates.sweep(sum(len(email.recipients) for email in emails))
    shares = Shares(runs)
    rights = mail_rights({run.tenant_id for run in runs})
    with Post() as post:
        for email, run in zip(emails, runs, strict=True):
            yield _sent(email, run, rights[run.tenant_id], post, shares)


class Shares:
    """How much of a batch the templates of each tenant may take, so that other tenants' mails do not wait for them."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._shared = len({run.tenant_id for run in runs}) > 1
        self._used: Counter[UUID] = Counter()

    @contextmanager
    def metered(self, tenant: UUID) -> Iterator[Meter]:
        """What counts the work for one mail. Raises MustWait where the tenant's share is used up."""
        if self._shared and self._used[tenant] >= SHARE:
            raise MustWait(
                "waiting: the tenant's templates used up their share of this batch", CLOCK.now() + NEXT_BATCH
            )
        meter = Meter()
        try:
            yield meter
        finally:
            self._used[tenant] += meter.work


def _sent(email: Email, run: Run, rights: MailRights, post: Post, shares: Shares) -> dict[str, Any] | BaseException:
    if run.cancelled:
        return Cancelled("it was not sent")
    if not rights.verified:
        return GiveUpNow(UNVERIFIED)
    try:
        if email.context is None:
            message = written(email, run, rights.senders)
        else:
            with shares.metered(run.tenant_id) as meter:
                message = written(email, run, rights.senders, meter)
        if wait := mail_rates.wait_for(run.tenant_id, email.recipients, rights):
            return MustWait("waiting: the mail rate of the tenant or of the recipient is reached", CLOCK.now() + wait)
        refused = post.send(message, last=run.last_attempt)
    except Exception as error:
        return error
    for recipient, answer in refused.items():
        run.log(f"{recipient} was refused: {answer}", level="warning")
    result: dict[str, Any] = {"recipients": [one for one in email.recipients if one not in refused]}
    return result | {"refused": refused} if refused else result
