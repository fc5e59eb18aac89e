"""Changing a password, and resetting a forgotten one by mail.

A reset token is Django's: signed, and bound to the password, the address and the time. So it expires, it is good for
one use, and a new password makes every other one invalid. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.http import HttpRequest
from django.utils.encoding import force_bytes, force_str
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from accounts import attempts, posting
from accounts.models import User

Link = Callable[[str], str]  # of a token: the page that takes it

ASKED = "If an active account has this address, a link to reset its password is on its way."
WITHOUT_SERVER = "This server cannot send mail. Ask an administrator to set a new password for you."


class WrongPassword(Exception):
    """The current password is not this one."""


class BadResetToken(Exception):
    """The token resets nothing."""


def change(request: HttpRequest, user: User, *, current: str, new: str) -> User:
    """Set a new password, which ends every token and every other session. Return the user as they are now.

    Raises WrongPassword, TooManyAttempts, and Django's ValidationError for a new password that is too weak.
    """
    # By way of the sign-in, so that a stolen session cannot guess the password either.
    known = authenticate(request, username=user.get_username(), password=current)
    if known is None or known.pk != user.pk:
        attempts.check_sign_in(request)
        raise WrongPassword("The current password is incorrect.")
    validate_password(new, known)
    checked = known.password
    known.set_password(new)
    with transaction.atomic():
        # Locked, with the password as it was checked: a password that was reset meanwhile, because the old one is
        # known to somebody else, must not be replaced by that person.
        unchanged = User.objects.select_for_update(no_key=True).filter(pk=known.pk, password=checked, is_active=True)
        if not list(unchanged.values_list("pk")):
            raise WrongPassword("The password has just changed. Sign in again.")
        known.save(update_fields=["password"])
    return known


def can_mail() -> bool:
    """Whether a mail leaves this machine."""
    return bool(settings.EMAIL_URL)


def request_reset(request: HttpRequest, address: str, *, link: Link) -> str:
    """Mail a link to each active user with this address, in the background; return the same message for any address.

    The request does the same work for every address. Raises TooManyAttempts for a client that asks without end.
    """
    wanted = attempts.count_reset(request, address)
    posting.later(lambda: _mail_links(address if wanted else "", link))
    return ASKED if can_mail() else WITHOUT_SERVER


def user_of(token: str) -> User:
    """The user whose password a token resets. Raises BadResetToken."""
    return _checked(token, User.objects.all())


@transaction.atomic
def reset(request: HttpRequest, token: str, *, new: str) -> User:
    """Set a new password with a mailed token. The address stays unverified if it was.

    A stranger may have registered the account with somebody else's address, and have that person reset its password:
    the stranger's API keys and other owners of its tenants would then send mail in that person's name.

    Raises BadResetToken, and Django's ValidationError for a password that is too weak.
    """
    # Locked, then checked: of two who bring one token at once, the second finds another password.
    user = _checked(token, User.objects.select_for_update(no_key=True))
    validate_password(new, user)
    user.set_password(new)
    user.save(update_fields=["password"])
    # Strangers who guess may keep a user away from an unknown address: mail is another way in.
    attempts.remember_address(request, user)
    return user


def _checked(token: str, users: object) -> User:
    place, _, signed = token.partition(".")
    try:
        user = users.get(pk=force_str(urlsafe_base64_decode(place)), is_active=True)
    except (User.DoesNotExist, ValueError, OverflowError, UnicodeDecodeError):
        user = None
    if user is None or not default_token_generator.check_token(user, signed):
        raise BadResetToken("The link is invalid, expired or already used. Request a new one.")
    return user


def _mail_links(address: str, link: Link) -> None:
    for user in User.objects.filter(email__iexact=address, is_active=True).exclude(email=""):
        # Databases fold letters that are alike, and mail servers do not: another's address must not get the link.
        if user.email.casefold() == address.casefold() and user.has_usable_password():
            token = f"{urlsafe_base64_encode(force_bytes(user.pk))}.{default_token_generator.make_token(user)}"
            posting.post("Reset your Punctual password", _text(user, link(token)), user.email)


def _text(user: User, address: str) -> str:
    minutes = settings.PASSWORD_RESET_TIMEOUT // 60
    return (
        f"Somebody asked to reset the password of the account {user.get_username()}.\n\n"
        f"To choose a new password, open this link within {minutes} minutes:\n\n"
        f"    {address}\n\n"
        "If it was not you, ignore this mail. The password stays as it is.\n"
    )
