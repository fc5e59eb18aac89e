"""Sends mails, all that come together over one connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from accounts import mail_rates
from accounts.mail_rights import UNVERIFIED, MailRights, check_may_mail, mail_rights
from execution.destinations import MustWait
from execution.mail.letters import length_of, written
from execution.mail.meter import MAX_WORK, Meter
from execution.mail.payload import Email
from execution.mail.post import Post
from execution.registry import Run, task
from execution.retry import Cancelled, GiveUpNow
from jobs.clock import DatabaseClock

SHARE = MAX_WORK // 2  # units of work of one tenant's mails in a batch: some tenths of a second
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
    """Send each mail through the configured mail server. Each result has the recipients that it accepted."""
    if settings.MAIL_RATE_PER_RECIPIENT:  # first: nobody goes on with a generator that has answered for all
        mail_rates.sweep(sum(len(email.recipients) for email in emails))
    rights = mail_rights({run.tenant_id for run in runs})
    shares = Shares([payer(run, rights[run.tenant_id]) for run in runs])
    with Post() as post:
        for email, run in zip(emails, runs, strict=True):
            yield _sent(email, run, rights[run.tenant_id], post, shares)


def payer(run: Run, rights: MailRights) -> UUID | int:
    """Whose share of a batch a mail takes: that of the owner who answers for the tenant, with all tenants of theirs."""
    return rights.answerer or run.tenant_id


class Shares:
    """How much of a batch the mails of each payer may take while mails of others wait behind them.

    Counted in units of a template's work. A byte of a mail is one: to encode and hand over an attachment takes as long
    as to fill in a template of that length.
    """

    def __init__(self, payers: Sequence[UUID | int]) -> None:
        self._left = Counter(payers)
        self._used: Counter[UUID | int] = Counter()

    def take_turn(self, payer: UUID | int) -> None:
        """Begin one of the payer's mails. Raises MustWait where the share is used up and mails of others wait."""
        self._left[payer] -= 1
        if self._used[payer] >= SHARE and self._left.total() > self._left[payer]:
            raise MustWait("waiting: the tenant's mails used up their share of this batch", CLOCK.now() + NEXT_BATCH)

    def count(self, payer: UUID | int, work: int) -> None:
        self._used[payer] += work


def _sent(email: Email, run: Run, rights: MailRights, post: Post, shares: Shares) -> dict[str, Any] | BaseException:
    if run.cancelled:
        return Cancelled("it was not sent")
    if not rights.verified:
        return GiveUpNow(UNVERIFIED)
    try:
        shares.take_turn(payer(run, rights))
        meter = Meter()
        try:
            message = written(email, run, rights.senders, meter)
        finally:
            shares.count(payer(run, rights), meter.work)
        shares.count(payer(run, rights), length_of(message))
        if wait := mail_rates.wait_for(run.tenant_id, email.recipients, rights):
            return MustWait("waiting: the mail rate of the tenant or of the recipient is reached", CLOCK.now() + wait)
        refused = post.send(message, last=run.last_attempt)
    except Exception as error:
        return error
    for recipient, answer in refused.items():
        run.log(f"{recipient} was refused: {answer}", level="warning")
    result: dict[str, Any] = {"recipients": [one for one in email.recipients if one not in refused]}
    return result | {"refused": refused} if refused else result
