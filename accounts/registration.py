"""Who may register: anybody, people with an invitation, or nobody. The setting `REGISTRATION` decides."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest

from accounts import attempts, inviting
from accounts.models import Invitation, User
from accounts.services import register

OPEN, INVITED, CLOSED = "open", "invited", "closed"


class RegistrationRefused(Exception):
    """Registration is not open to this person."""


def check_open(token: str) -> Invitation | None:
    """The invitation that a token belongs to, if any. Raises RegistrationRefused and NoSuchInvitation."""
    if is_closed():
        raise RegistrationRefused("Registration is closed. Ask an administrator for an account.")
    if token:
        return inviting.find(token)
    if settings.REGISTRATION == INVITED:
        raise RegistrationRefused("Registration requires an invitation. Ask an owner of a tenant to invite you.")
    return None


def admit(request: HttpRequest, token: str) -> None:
    """Decide whether this request may register. Call it before looking at what else the request says.

    A refused request reveals nothing about usernames. Every attempt counts, because the answer reveals a taken name.
    Raises TooManyAttempts, and what `check_open` raises.
    """
    attempts.count_registration(request)
    check_open(token)


@transaction.atomic
def sign_up(*, username: str, email: str, password: str, invitation: str = "") -> User:
    """Create a user who was admitted, and accept the invitation they bring. Raises ForSomebodyElse."""
    user = register(username=username, email=email, password=password)
    if invitation:
        inviting.accept(invitation, user=user)
    return user


def is_closed() -> bool:
    return settings.REGISTRATION == CLOSED
