"""Tokens, and the family that each sign-in begins.

A refresh token is good for one use. Which one is the newest stands in the family's row, and to use it is one guarded
UPDATE: of any number who bring the same token at once, one at most gets through. Whoever brings a token that is no
longer the newest ends the whole family, for nobody can tell the owner from the thief.
"""

from __future__ import annotations

from typing import NamedTuple

from django.db import transaction
from django.utils import timezone
from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.tokens import RefreshToken
from rest_framework_simplejwt.utils import datetime_from_epoch

from accounts.models import TokenFamily, User

FAMILY = "family"  # the claim, in both kinds of token


class SignInAgain(Exception):
    """The token is of no use, and no other will be had for it."""


class Pair(NamedTuple):
    """What a sign-in or a refresh gives."""

    access: str
    refresh: str


@transaction.atomic
def sign_in(user: User) -> Pair:
    """Begin a family; delete those of the user that have expired. Raises SignInAgain.

    The row is locked, with the password as it was read. A password that changes meanwhile either ended before, and the
    old one begins nothing, or comes after, and ends the family begun here.
    """
    current = User.objects.select_for_update(no_key=True).filter(pk=user.pk, password=user.password, is_active=True)
    if not list(current.values_list("pk")):
        raise SignInAgain("The password has just changed. Sign in again.")
    user.token_families.over(timezone.now()).delete()
    family = TokenFamily(user=user)
    token = _token(user.pk, family)
    family.newest, family.expires_at = token["jti"], datetime_from_epoch(token["exp"])
    family.save(force_insert=True)
    return Pair(str(token.access_token), str(token))


def refresh(text: str) -> Pair:
    """Exchange the newest refresh token of a family for a new pair. Raises SignInAgain."""
    old = _read(text)
    family = TokenFamily(pk=old[FAMILY])
    new = _token(old["user_id"], family)
    usable = TokenFamily.objects.filter(pk=family.pk, newest=old["jti"]).of_the_active()
    if not usable.update(newest=new["jti"], expires_at=datetime_from_epoch(new["exp"])):
        TokenFamily.objects.filter(pk=family.pk).delete()
        raise SignInAgain("This refresh token was used before, or its session has ended. Sign in again.")
    return Pair(str(new.access_token), str(new))


def sign_out(text: str) -> None:
    """End the family of a refresh token, whether or not it is the newest. Raises SignInAgain for no token at all."""
    end_family(_read(text)[FAMILY])


def end_family(family: str) -> None:
    """All tokens of the family end with it, those that give access too."""
    TokenFamily.objects.filter(pk=family).delete()


def _token(user_id: object, family: TokenFamily) -> RefreshToken:
    token = RefreshToken()
    token["user_id"] = str(user_id)
    token[FAMILY] = str(family.pk)
    return token


def _read(text: str) -> RefreshToken:
    try:
        token = RefreshToken(text)
    except TokenError as error:
        raise SignInAgain(f"This is no refresh token that can be used: {error}. Sign in again.") from None
    if FAMILY not in token:
        raise SignInAgain("This refresh token belongs to no session. Sign in again.")
    return token
