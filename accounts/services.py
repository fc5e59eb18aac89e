"""What is done with accounts across more than one row."""

from __future__ import annotations

from django.db import transaction

from accounts.models import Tenant, User
from accounts.teams import create_tenant


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
    return create_tenant(name=user.username, owner=user).tenant
