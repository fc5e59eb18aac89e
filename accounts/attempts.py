"""Limits how often a password can be guessed, and how many register from one address.

Counted before the password is looked at, so that many guesses at once are no way around it; a right one is given
back. Always in the database, which a sign-in needs anyway: guessing does not become free while Redis is away.
"""

from __future__ import annotations

from hashlib import sha256

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from rest_framework.exceptions import Throttled

from accounts.addresses import address_of
from accounts.limits.base import Allowance, Draw
from accounts.limits.database import DatabaseBuckets
from accounts.models import User

buckets = DatabaseBuckets()


class TooManyAttempts(Throttled):
    def __init__(self, draw: Draw) -> None:
        super().__init__(wait=draw.retry_after, detail="Too many attempts. Wait a while, then try again.")


class LimitedBackend(ModelBackend):
    """Django's own, for the API and the admin alike, with a limit on wrong passwords."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **options: object
    ) -> User | None:
        if request is None or username is None or password is None:
            return super().authenticate(request, username=username, password=password, **options)
        allowances = _of_sign_in(request, username)
        if refused := _refused(allowances):
            request.refused_attempt = refused
            raise PermissionDenied  # to Django: ask no other backend
        user = super().authenticate(request, username=username, password=password, **options)
        if user is not None:
            buckets.give_back(allowances)
        return user


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


def _of_sign_in(request: HttpRequest, username: str) -> list[Allowance]:
    # By its hash: a name may be any text, of any length, and whatever somebody typed is nobody's to read.
    account = sha256(User.normalize_username(username).casefold().encode(errors="replace")).hexdigest()
    period = settings.LOGIN_PERIOD
    allowances = [Allowance(f"login:{account}", settings.LOGIN_ATTEMPTS, period)]
    if address := address_of(request):
        allowances.append(Allowance(f"login_from:{address}", settings.LOGIN_ATTEMPTS_PER_ADDRESS, period))
    return allowances


def _refused(allowances: list[Allowance]) -> Draw | None:
    draws = buckets.take(allowances)
    buckets.sweep()
    return None if draws[-1].admitted else draws[-1]
