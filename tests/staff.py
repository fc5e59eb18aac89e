"""Makes people staff, with the permissions of a group or with none."""

from __future__ import annotations

from django.contrib.auth.models import Group

from accounts.groups import make_groups
from accounts.models import User


def staff_of(user: User, *groups: str) -> User:
    """The same person as staff, read anew: permissions are remembered."""
    make_groups()
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.groups.set(Group.objects.filter(name__in=groups))
    return User.objects.get(pk=user.pk)
