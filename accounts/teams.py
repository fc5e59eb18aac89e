"""Tenants and the people in them.

A tenant has an owner at all times. Acts that could take the last one away hold the tenant's lock, so that of two owners
who leave at once one is told to stay.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Membership, Tenant, User
from accounts.quota import QuotaExceeded, take_turn

OWNER = Membership.Role.OWNER


class NotAnOwner(Exception):
    """Only owners may do this."""


class LastOwner(Exception):
    """The tenant would be left without an owner."""


@transaction.atomic
def create_tenant(*, name: str, owner: User) -> Membership:
    """Create a tenant that belongs to its creator. Raises QuotaExceeded."""
    check_room(owner)
    tenant = Tenant.objects.create(name=name)
    return Membership.objects.create(tenant=tenant, user=owner, role=OWNER)


def check_room(owner: User) -> None:
    """Raise QuotaExceeded for a user who would own too many tenants. Call it in the transaction that makes an owner.

    Other quotas are of a tenant each, so nobody has as many of them as they like: neither by creating tenants nor by
    being made an owner.
    """
    take_turn(owner)
    limit = settings.TENANTS_PER_USER
    used = owner.memberships.filter(role=OWNER)[: limit + 1].count()
    if used >= limit:
        remedy = f"Use a tenant that {owner} owns already, or give ownership of one to another member."
        raise QuotaExceeded("tenants", limit=limit, used=used, remedy=remedy)


def owners_of(tenants: Collection[UUID]) -> dict[UUID, int]:
    """Return one owner of each tenant, the same each time. A superuser may own the tenants of many, and is left out."""
    owners = _persons().filter(tenant__in=tenants)
    return dict(owners.order_by("-user_id").values_list("tenant_id", "user_id"))


def has_several_owners() -> bool:
    """Return whether the tenants belong to more than one person. Superusers are left out."""
    return len(_persons().order_by().values_list("user_id").distinct()[:2]) > 1


def _persons() -> QuerySet[Membership]:
    return Membership.objects.filter(role=OWNER, user__is_active=True, user__is_superuser=False)


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
    """Have somebody be something else in the tenant.

    Raises NotAnOwner, LastOwner, QuotaExceeded and Membership.DoesNotExist.
    """
    check_owner(own)
    changed = _locked(own.tenant, user_id)
    if role is None:
        return changed
    if changed.owns and role != OWNER:
        _check_another_owner(changed)
    if role == OWNER and not changed.owns:
        check_room(changed.user)
    changed.role = role
    changed.save(update_fields=["role"])
    return changed


@transaction.atomic
def remove_member(own: Membership, user_id: int) -> None:
    """Remove a member, or leave. Their keys and invitations end: see `accounts.revoking`. Raises as `change_role`."""
    leaving = _locked(own.tenant, user_id)
    if leaving.user_id != own.user_id:
        check_owner(own)
    if leaving.owns:
        _check_another_owner(leaving)
    leaving.delete()


def _locked(tenant: Tenant, user_id: int) -> Membership:
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    return Membership.objects.select_related("user", "tenant").get(tenant=tenant, user_id=user_id)


def _check_another_owner(membership: Membership) -> None:
    others = membership.tenant.memberships.filter(role=OWNER).exclude(pk=membership.pk)
    if not others.exists():
        raise LastOwner(f"{membership.user} is the last owner of {membership.tenant}. Make somebody else one first.")
