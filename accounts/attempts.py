"""Limits how often a password can be guessed, and what else strangers may try.

Counted before the password is looked at, so that guesses in parallel are counted too; a right one is given back.
Always in the database, which a sign-in needs anyway: brute-force protection does not depend on Redis.

Wrong passwords count for the account from that address, for the address, and for the account from all addresses
together. The last limit would let strangers lock an owner out, so it does not apply to an address that the account was
signed in to from before: there the other two do.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

import structlog
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from rest_framework.exceptions import Throttled

from accounts import demo
from accounts.addresses import address_of
from accounts.limits.base import Allowance, Draw
from accounts.limits.database import DatabaseBuckets
from accounts.models import KnownAddress, Membership, User

logger = structlog.get_logger(__name__)
buckets = DatabaseBuckets()

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SWEPT = 20  # old addresses a sign-in clears away: more than it adds


class TooManyAttempts(Throttled):
    def __init__(self, draw: Draw, of: str = "attempts") -> None:
        super().__init__(wait=draw.retry_after, detail=f"Too many {of}. Wait a while, then try again.")


class LimitedBackend(ModelBackend):
    """Django's own, for the API and the admin alike, with a limit on wrong passwords."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **options: object
    ) -> User | None:
        if request is None or username is None or password is None:
            return super().authenticate(request, username=username, password=password, **options)
        known_at = _known_at(username, request)
        allowances = _of_sign_in(request, username, known=known_at is not None)
        if refused := _refused(allowances):
            request.refused_attempt = refused
            raise PermissionDenied  # to Django: ask no other backend
        user = super().authenticate(request, username=username, password=password, **options)
        if user is not None and not demo.may_sign_in(username, password, asked_by=request.META):
            logger.warning("demo.sign_in_refused", remedy=demo.CHANGE_IT)
            return None
        if user is not None:
            buckets.give_back(allowances)
            if known_at is None or timezone.now() - known_at > DAY:
                remember_address(request, user)
        return user


def remember_address(request: HttpRequest, user: User) -> None:
    """Note that the user signs in from here, or has proved otherwise who they are."""
    now = timezone.now()
    KnownAddress.objects.update_or_create(digest=_digest_of(user.get_username(), request), defaults={"seen_at": now})
    old = KnownAddress.objects.filter(seen_at__lt=now - settings.KNOWN_ADDRESS_KEPT)
    KnownAddress.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:SWEPT])).delete()


def _known_at(username: str, request: HttpRequest) -> datetime | None:
    """When the account was last signed in to from this address. An account that does not exist is asked for alike."""
    since = timezone.now() - settings.KNOWN_ADDRESS_KEPT
    found = KnownAddress.objects.filter(pk=_digest_of(username, request), seen_at__gte=since)
    return found.values_list("seen_at", flat=True).first()


def _digest_of(username: str, request: HttpRequest) -> str:
    # The exact name, unlike the limits, which fold letters: `ALICE` may be a stranger's account, and a sign-in to it
    # must not make the stranger's address a known one of `alice`.
    name = sha256(User.normalize_username(username).encode(errors="replace")).hexdigest()
    told = f"{name} {address_of(request)}"
    return salted_hmac("accounts.known_address", told, algorithm="sha256").hexdigest()


def check_sign_in(request: HttpRequest) -> None:
    """Tell whoever was refused for their many attempts from those whose password was wrong. Raises TooManyAttempts."""
    if refused := getattr(request, "refused_attempt", None):
        raise TooManyAttempts(refused)


def count_registration(request: HttpRequest) -> None:
    """Raises TooManyAttempts for an address that registers without end."""
    address = address_of(request)
    if not address:
        return
    allowance = Allowance(f"registration:{address}", settings.REGISTRATIONS_PER_ADDRESS, settings.REGISTRATION_PERIOD)
    if refused := _refused([allowance]):
        raise TooManyAttempts(refused)


def count_reset(request: HttpRequest, mail_address: str) -> bool:
    """Count that a reset was asked for, and say whether a mail may be sent: a person is not flooded with them.

    Raises TooManyAttempts for a client that asks without end. What is said does not depend on whose address it is.
    """
    period = settings.PASSWORD_RESET_PERIOD
    client = Allowance(f"reset_from:{address_of(request)}", settings.PASSWORD_RESETS_PER_ADDRESS, period)
    if refused := _refused([client]):
        raise TooManyAttempts(refused)
    return not _refused([Allowance(f"reset:{_hashed(mail_address)}", settings.PASSWORD_RESETS, period)])


def count_email_proof(user: User) -> None:
    """Raises TooManyAttempts for too many links to one user, or of several users to one address."""
    names = (f"email_proof:{user.pk}", f"email_proof_to:{_hashed(user.email)}")
    if refused := _refused([Allowance(name, settings.EMAIL_PROOFS, HOUR) for name in names]):
        raise TooManyAttempts(refused)


def count_invitation(own: Membership, mail_address: str) -> None:
    """Raises TooManyAttempts where a tenant, a user or all together mail too many invitations."""
    most, to_one = settings.INVITATION_RATE, settings.INVITATION_RATE_PER_RECIPIENT
    allowances = [
        Allowance(name, limit, HOUR)
        for name, limit in (
            (f"invitation_by:{own.user_id}", most),
            (f"invitation_of:{own.tenant_id}", most),
            (f"invitation_to:{_hashed(mail_address)}", to_one),
        )
        if limit
    ]
    if allowances and (refused := _refused(allowances)):
        raise TooManyAttempts(refused, "invitations")


def count_test_notice(tenant: UUID) -> None:
    """Raises TooManyAttempts for a tenant that has alert rules tested without end: each test is a mail."""
    if settings.INVITATION_RATE:
        allowance = Allowance(f"test_notice:{tenant}", settings.INVITATION_RATE, HOUR)
        if refused := _refused([allowance]):
            raise TooManyAttempts(refused, "test notices")


def _hashed(text: str) -> str:
    # A name may be any text, of any length, and what somebody typed is not to be read by others.
    return sha256(User.normalize_username(text).casefold().encode(errors="replace")).hexdigest()


def _of_sign_in(request: HttpRequest, username: str, *, known: bool) -> list[Allowance]:
    """Narrowest first."""
    account, address, period = _hashed(username), address_of(request), settings.LOGIN_PERIOD
    from_here = sha256(f"{account} {address}".encode()).hexdigest()
    allowances = [Allowance(f"login:{from_here}", settings.LOGIN_ATTEMPTS, period)]
    if not known:
        allowances.append(Allowance(f"login_to:{account}", settings.LOGIN_ATTEMPTS_PER_ACCOUNT, period))
    if address:
        allowances.append(Allowance(f"login_from:{address}", settings.LOGIN_ATTEMPTS_PER_ADDRESS, period))
    return allowances


def _refused(allowances: list[Allowance]) -> Draw | None:
    draws = buckets.take(allowances)
    buckets.sweep()
    refused = draws[-1]
    if refused.admitted:
        return None
    # A refused request does not count as an attempt: it must not use up a limit that several users share.
    buckets.give_back([draw.allowance for draw in draws if draw.admitted])
    return refused
