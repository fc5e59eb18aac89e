"""Tenants and the people in them.

A tenant has an owner at all times. Acts that could take the last one away hold the tenant's lock, so that of two owners
who leave at once one is told to stay.
"""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.models import ApiKey, Membership, Tenant, User
from accounts.quota import QuotaExceeded

OWNER = Membership.Role.OWNER


class NotAnOwner(Exception):
    """Only owners may do this."""


class LastOwner(Exception):
    """The tenant would be left without an owner."""


@transaction.atomic
def create_tenant(*, name: str, owner: User) -> Membership:
    """Create a tenant that belongs to its creator."""
    limit = settings.TENANTS_PER_USER
    used = owner.memberships.filter(role=OWNER)[: limit + 1].count()
    if used >= limit:
        raise QuotaExceeded("tenants", limit=limit, used=used, remedy="Use one of yours, or make others its owners.")
    tenant = Tenant.objects.create(name=name)
    return Membership.objects.create(tenant=tenant, user=owner, role=OWNER)


def rename_tenant(own: Membership, name: str) -> Membership:
    check_owner(own)
    own.tenant.name = name
    own.tenant.save(update_fields=["name"])
    return own


def check_owner(own: Membership) -> None:
    if not own.owns:
        raise NotAnOwner(f"In {own.tenant} you are a {own.role}. Ask an owner.")


@transaction.atomic
def change_role(own: Membership, user_id: int, role: str | None = None) -> Membership:
    """Have somebody be something else in the tenant. Raises NotAnOwner, LastOwner and Membership.DoesNotExist."""
    check_owner(own)
    changed = _locked(own.tenant, user_id)
    if role is None:
        return changed
    if changed.owns and role != OWNER:
        _check_another_owner(changed)
    changed.role = role
    changed.save(update_fields=["role"])
    return changed


@transaction.atomic
def remove_member(own: Membership, user_id: int) -> None:
    """Take somebody out of the tenant, or leave it; the keys they made for it end. Raises as `change_role` does."""
    leaving = _locked(own.tenant, user_id)
    if leaving.user_id != own.user_id:
        check_owner(own)
    if leaving.owns:
        _check_another_owner(leaving)
    ApiKey.objects.for_tenant(own.tenant).of(leaving.user).revoke(timezone.now())
    leaving.delete()


def _locked(tenant: Tenant, user_id: int) -> Membership:
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    return Membership.objects.select_related("user", "tenant").get(tenant=tenant, user_id=user_id)


def _check_another_owner(membership: Membership) -> None:
    others = membership.tenant.memberships.filter(role=OWNER).exclude(pk=membership.pk)
    if not others.exists():
        raise LastOwner(f"{membership.user} is the last owner of {membership.tenant}. Make somebody else one first.")
