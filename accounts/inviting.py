"""Invitations: an owner names an address and a role, and whoever has the address and the token may join.

The token is mailed to the address and shown to the owner once, who may pass it on another way. It is no use to others:
it is accepted only from a user with that address.
"""

from __future__ import annotations

import secrets
from email.errors import MessageError
from hashlib import sha256
from typing import NamedTuple

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.utils import timezone

from accounts.models import Invitation, Membership, User
from accounts.quota import QuotaExceeded
from accounts.teams import check_owner

logger = structlog.get_logger(__name__)

MOST_OPEN = 100  # invitations a tenant: mail to strangers is what they are


class NoSuchInvitation(Exception):
    """There is none for this token, or no longer."""


class ForSomebodyElse(Exception):
    """The invitation is for another address."""


class NewInvitation(NamedTuple):
    """An invitation, and the token of it that is never shown again."""

    invitation: Invitation
    token: str
    mailed: bool


def invite(own: Membership, *, email: str, role: str) -> NewInvitation:
    """Invite whoever has this address. Raises NotAnOwner and QuotaExceeded."""
    check_owner(own)
    now = timezone.now()
    used = Invitation.objects.for_tenant(own.tenant).open(now)[: MOST_OPEN + 1].count()
    if used >= MOST_OPEN:
        raise QuotaExceeded("open_invitations", limit=MOST_OPEN, used=used, remedy="Withdraw one, or wait for one.")
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        tenant=own.tenant,
        email=email,
        role=role,
        digest=_digest(token),
        invited_by=own.user,
        expires_at=now + settings.INVITATION_LIFETIME,
    )
    return NewInvitation(invitation, token, _mailed(invitation, token, own))


@transaction.atomic
def accept(token: str, *, user: User) -> Membership:
    """Join the tenant that `token` invites to; who belongs to it already stays what they are."""
    now = timezone.now()
    invitation = Invitation.objects.open(now).select_related("tenant").filter(digest=_digest(token)).first()
    if invitation is None:
        raise NoSuchInvitation("There is no such invitation, or it was accepted, withdrawn, or is too old. Ask again.")
    if invitation.email.lower() != user.email.lower():
        raise ForSomebodyElse("This invitation is for another address than yours. Sign in as whoever has it.")
    # Guarded: of two who accept at once, one does.
    if not Invitation.objects.open(now).filter(pk=invitation.pk).update(accepted_at=now):
        raise NoSuchInvitation("This invitation was accepted a moment ago.")
    membership, _ = Membership.objects.get_or_create(
        tenant=invitation.tenant, user=user, defaults={"role": invitation.role}
    )
    return membership


def _mailed(invitation: Invitation, token: str, own: Membership) -> bool:
    """Whether it could be sent; if not, the owner still has the token to pass on."""
    text = (
        f"{own.user.username} invites you to {own.tenant} on Punctual, as {invitation.role}.\n\n"
        f"Register or sign in with this address, then accept at POST /api/v1/invitations/accept with the token\n\n"
        f"    {token}\n\n"
        f"It is good until {invitation.expires_at:%Y-%m-%d %H:%M} UTC.\n"
    )
    try:
        # The subject is ours alone: a name somebody chose is no header.
        send_mail("An invitation to Punctual", text, None, [invitation.email])
    except (OSError, ValueError, MessageError) as error:  # of the server, or of an address that no mail can have
        logger.warning("invitation.not_mailed", invitation=str(invitation.pk), error=str(error))
        return False
    return True


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
