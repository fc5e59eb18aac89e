"""What is done with accounts across more than one row."""

from __future__ import annotations

from django.db import transaction

from accounts.models import Membership, Tenant, User


@transaction.atomic
def register(*, username: str, email: str, password: str) -> User:
    """Create a user with a personal tenant to own their jobs."""
    user = User.objects.create_user(username=username, email=email, password=password)
    add_personal_tenant(user)
    return user


@transaction.atomic
def register_admin(*, username: str, email: str, password: str) -> User:
    """Create a user who may do everything in the admin, with a personal tenant like anyone else's."""
    user = User.objects.create_superuser(username=username, email=email, password=password)
    add_personal_tenant(user)
    return user


def add_personal_tenant(user: User) -> Tenant:
    tenant = Tenant.objects.create(name=user.username)
    Membership.objects.create(tenant=tenant, user=user, role=Membership.Role.OWNER)
    return tenant
