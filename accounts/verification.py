"""Verified addresses: that a user reads mail to the address they gave.

A token is mailed to the address and brought back by the user who is signed in. Bringing it without being signed in
proves nothing: a stranger could give somebody else's address, and have that person click.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

from django.conf import settings
from django.utils import timezone

from accounts import attempts, posting
from accounts.models import EmailProof, User

Link = Callable[[str], str]  # of a token: the page that takes it


class BadEmailProof(Exception):
    """The token verifies nothing."""


class NoAddress(Exception):
    """The user has no address to verify."""


def request_proof(user: User, *, link: Link) -> str:
    """Mail a link to the user's address, which ends earlier ones; return the address.

    Raises TooManyAttempts and NoAddress.
    """
    if not user.email:
        raise NoAddress("Your account has no email address. Ask an administrator to add one.")
    attempts.count_email_proof(user)
    token = secrets.token_urlsafe(32)
    made = {
        "email": user.email,
        "digest": _digest(token),
        "expires_at": timezone.now() + settings.EMAIL_PROOF_LIFETIME,
    }
    EmailProof.objects.update_or_create(user=user, defaults=made)
    hours = settings.EMAIL_PROOF_LIFETIME.total_seconds() / 3600
    posting.post(
        "Verify your Punctual address",
        f"To verify that {user.email} is the address of the account {user.get_username()}, open this link within "
        f"{hours:g} hours, and sign in:\n\n    {link(token)}\n\n"
        "If you have no such account, ignore this mail.\n",
        user.email,
    )
    return user.email


def request_first_proof(user: User, *, link: Link) -> None:
    """Mail the link to a user who has just registered, where sending mail requires it."""
    if settings.MAIL_NEEDS_VERIFIED_OWNER and not user.has_verified_address:
        with suppress(attempts.TooManyAttempts):  # the account is there, and can ask for a link later
            request_proof(user, link=link)


def verify(token: str, *, user: User) -> None:
    """Note that the user reads the address that the token was mailed to. Raises BadEmailProof."""
    proof = EmailProof.objects.usable(timezone.now()).filter(user=user, digest=_digest(token)).first()
    # Guarded: of two requests with the same token, one deletes the row and the other gets the error.
    if proof is None or not EmailProof.objects.filter(pk=proof.pk, digest=proof.digest).delete()[0]:
        raise BadEmailProof("The link is invalid, expired, already used, or for another account. Request a new one.")
    user.note_verified(proof.email)


def _digest(token: str) -> str:
    return sha256(token.encode(errors="replace")).hexdigest()
