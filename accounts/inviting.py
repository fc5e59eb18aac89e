"""Invitations: an owner names an address and a role, and a user with that address and a token may join.

One token is mailed to the address. Another is shown to the owner once, to be passed on by other means. Both are
accepted only from a user with that address; only the mailed one proves that the user reads it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from email.errors import MessageError
from hashlib import sha256
from typing import NamedTuple

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.utils import timezone

from accounts import attempts
from accounts.mail_rights import check_may_mail
from accounts.models import Invitation, Membership, User
from accounts.quota import QuotaExceeded, take_turn
from accounts.teams import check_owner, check_room

logger = structlog.get_logger(__name__)

Link = Callable[[str], str]  # of a token: the page that accepts it

MOST_OPEN = 100  # invitations a tenant: mail to strangers is what they are


class NoSuchInvitation(Exception):
    """There is none for this token, or no longer."""


class ForSomebodyElse(Exception):
    """The invitation is for another address."""


class NewInvitation(NamedTuple):
    """An invitation, and its token for the owner, which is never shown again."""

    invitation: Invitation
    token: str
    mailed: bool


def invite(own: Membership, *, email: str, role: str, link: Link) -> NewInvitation:
    """Invite the person with this address. Raises NotAnOwner, MailRefused, TooManyAttempts and QuotaExceeded."""
    check_owner(own)
    check_may_mail(own.tenant.pk)
    attempts.count_invitation(own, email)
    now = timezone.now()
    token = secrets.token_urlsafe(32)
    with transaction.atomic():  # over before the mail is sent, which may take long
        take_turn(own.tenant)
        used = Invitation.objects.for_tenant(own.tenant).open(now)[: MOST_OPEN + 1].count()
        if used >= MOST_OPEN:
            raise QuotaExceeded("open_invitations", limit=MOST_OPEN, used=used, remedy="Withdraw one, or wait for one.")
        invitation = Invitation.objects.create(
            tenant=own.tenant,
            email=email,
            role=role,
            digest=_digest(token),
            invited_by=own.user,
            expires_at=now + settings.INVITATION_LIFETIME,
        )
    return NewInvitation(invitation, token, _mailed(invitation, own, link))


def find(token: str) -> Invitation:
    """The open invitation that a token belongs to. Raises NoSuchInvitation."""
    found = Invitation.objects.open(timezone.now()).with_token(_digest(token)).select_related("tenant").first()
    if found is None:
        raise NoSuchInvitation("Invitation not found, expired, withdrawn or already accepted. Ask for a new one.")
    return found


@transaction.atomic
def accept(token: str, *, user: User) -> Membership:
    """Join the tenant that `token` invites to; who belongs to it already stays what they are.

    Raises NoSuchInvitation, ForSomebodyElse and QuotaExceeded.
    """
    invitation = find(token)
    if invitation.email.lower() != user.email.lower():
        raise ForSomebodyElse("This invitation is for a different email address. Sign in as the user who has it.")
    # Guarded: of two who accept at once, one does.
    now = timezone.now()
    if not Invitation.objects.open(now).filter(pk=invitation.pk).update(accepted_at=now):
        raise NoSuchInvitation("This invitation was accepted a moment ago.")
    if invitation.mailed_digest == _digest(token):
        user.note_verified(user.email)
    if invitation.role == Membership.Role.OWNER and not user.memberships.filter(tenant=invitation.tenant).exists():
        check_room(user)
    membership, _ = Membership.objects.get_or_create(
        tenant=invitation.tenant, user=user, defaults={"role": invitation.role}
    )
    return membership


def _mailed(invitation: Invitation, own: Membership, link: Link) -> bool:
    """Whether the mail was sent; if not, the owner still has a token to pass on."""
    token = secrets.token_urlsafe(32)
    name = " ".join(own.tenant.name.split())  # one line: a name must not look like a text of ours
    text = (
        f"{own.user.username} invites you to {name} on Punctual, as {invitation.role}.\n\n"
        f"To accept, open\n\n"
        f"    {link(token)}\n\n"
        f"or send this token to POST /api/v1/invitations/accept:\n\n"
        f"    {token}\n\n"
        f"The invitation expires at {invitation.expires_at:%Y-%m-%d %H:%M} UTC.\n"
    )
    # Before the mail is sent, so that it can be read at once.
    Invitation.objects.filter(pk=invitation.pk).update(mailed_digest=_digest(token))
    try:
        # The subject is ours alone: a name that a user chose is not a header.
        send_mail("An invitation to Punctual", text, None, [invitation.email])
    except (OSError, ValueError, MessageError) as error:  # of the server, or of an address that no mail can have
        logger.warning("invitation.not_mailed", invitation=str(invitation.pk), error=str(error))
        return False
    return True


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
