"""Mail rates of a tenant: in total, and per recipient.

Mails are counted in the database, with one statement per mail, before they are handed to the mail server. A mail over
a rate gets the time when its own token is available, so that postponed mails do not all compete for the same token.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256
from uuid import UUID

from django.conf import settings

from accounts.limits.base import MICROSECOND, Allowance, Draw
from accounts.limits.database import DatabaseBuckets
from accounts.mail_rights import MailRights

buckets = DatabaseBuckets()

HOUR = timedelta(hours=1)
LINE = 10_000  # hours that a line may be long; beyond, mails come back when it has become shorter


def wait_for(tenant: UUID, recipients: Iterable[str], rights: MailRights) -> timedelta | None:
    """None if a mail to these may be sent now, which then counts. Otherwise how long until its place in line."""
    allowances = _of_mail(tenant, sorted({one.casefold() for one in recipients}), rights)
    if not allowances:
        return None
    draws = buckets.take(allowances)
    refused = draws[-1]
    if refused.admitted:
        return None
    buckets.give_back([draw.allowance for draw in draws if draw.admitted])
    return timedelta(seconds=refused.retry_after) + _place_in_line(refused)


def sweep(mails: int) -> None:
    """Delete more unused buckets than this number of mails has created."""
    buckets.sweep(2 * mails + 1)


def _of_mail(tenant: UUID, recipients: list[str], rights: MailRights) -> list[Allowance]:
    """Narrowest first; in one order for all, so that no two mails wait for each other's rows.

    Mails of all tenants of one owner are counted together, unless the operator gave a tenant a rate of its own: a user
    can create many tenants.
    """
    allowances = []
    sender = rights.answerer or tenant
    if to_one := settings.MAIL_RATE_PER_RECIPIENT:
        names = sorted(sha256(f"{sender} {one}".encode(errors="replace")).hexdigest() for one in recipients)
        allowances += [Allowance(f"mail_to:{name}", to_one, HOUR) for name in names]
    if rights.rate:
        payer = tenant if rights.rate_is_own else sender
        allowances.append(Allowance(f"mail:{payer}", rights.rate, HOUR, cost=len(recipients)))
    return allowances


def _place_in_line(refused: Draw) -> timedelta:
    """How much later than the first who waits. A line is a bucket too: it moves on by one with each who joins."""
    allowance = refused.allowance
    line = Allowance(f"line:{allowance.name}", allowance.limit * LINE, allowance.period * LINE, allowance.cost)
    [place] = buckets.take([line])
    return max(timedelta(), (place.full_in - line.taken) * MICROSECOND)
