"""Ends what a person made for a tenant as soon as that person may no longer make it.

A user without a membership has no API keys, worker keys or invitations there, and is not invited; only owners have
worker keys and invitations; a deactivated user has none anywhere. What has ended does not come back with a new
membership.

The models' signals are the one place that the API, the admin and a shell all pass through. Statements that send none
(`QuerySet.update`, SQL) are caught where a key or an invitation is used, which asks what its maker may do now.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.signals import post_save, pre_delete, pre_save
from django.dispatch import Signal, receiver
from django.utils import timezone

from accounts.models import ApiKey, Invitation, Membership, Tenant, User

# Sent with `user_id` and `tenant_id`; without a tenant, in all of them.
ownership_lost = Signal()
membership_ended = Signal()


@transaction.atomic
def end_ownership(user_id: int, tenant_id: UUID | None = None) -> None:
    """End what only an owner may make. Others that keep such things listen to `ownership_lost`."""
    Invitation.objects.filter(invited_by=user_id, accepted_at=None, **_in(tenant_id)).delete()
    ownership_lost.send(Membership, user_id=user_id, tenant_id=tenant_id)


def withdraw_invitations_to(user_id: int, tenant_id: UUID) -> None:
    """A former member must not come back with an invitation that was sent before."""
    address = User.objects.filter(pk=user_id).values_list("email", flat=True).first()
    if address:
        Invitation.objects.filter(email__iexact=address, accepted_at=None, tenant=tenant_id).delete()


@transaction.atomic
def end_membership(user_id: int, tenant_id: UUID | None = None) -> None:
    """End all that a user has made for a tenant; without a tenant, for all of them."""
    ApiKey.objects.filter(creator=user_id, **_in(tenant_id)).revoke(timezone.now())
    end_ownership(user_id, tenant_id)
    membership_ended.send(Membership, user_id=user_id, tenant_id=tenant_id)
    if tenant_id is not None:
        withdraw_invitations_to(user_id, tenant_id)


# Before it is deleted: afterwards the rows of a deleted user no longer name their maker.
@receiver(pre_delete, sender=Membership)
def _left(instance: Membership, origin: Any, **_: Any) -> None:
    # Where the tenant itself is deleted, all that was made for it goes with it, and nothing may be added to it.
    if getattr(origin, "model", type(origin)) is not Tenant:
        end_membership(instance.user_id, instance.tenant_id)


@receiver(pre_save, sender=Membership)
def _moved(instance: Membership, **_: Any) -> None:
    """A membership that gets another user or tenant, as the admin allows, ends the former one."""
    if instance._state.adding:
        return
    former = Membership.objects.filter(pk=instance.pk).first()
    if former and (former.user_id, former.tenant_id) != (instance.user_id, instance.tenant_id):
        end_membership(former.user_id, former.tenant_id)


@receiver(post_save, sender=Membership)
def _changed(instance: Membership, created: bool, **_: Any) -> None:
    if not created and not instance.owns:
        end_ownership(instance.user_id, instance.tenant_id)


@receiver(post_save, sender=User)
def _deactivated(instance: User, created: bool, **_: Any) -> None:
    if not created and not instance.is_active:
        end_membership(instance.pk)
        instance.sign_out_everywhere()  # else sessions and tokens would be good again once the user is active again


# A worker key without an owner is an operator's: none may lose its owner and stay.
@receiver(pre_delete, sender=User)
def _deleted(instance: User, **_: Any) -> None:
    end_membership(instance.pk)


def _in(tenant_id: UUID | None) -> dict[str, UUID]:
    return {} if tenant_id is None else {"tenant_id": tenant_id}
