"""Who is asking, and for whom: users, and the tenants that own everything."""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models


class Standing(NamedTuple):
    """What a user is in the tenant that a request speaks for."""

    wanted: str | None  # the tenant, as the request names it
    membership: Membership | None


class User(AbstractUser):
    """A person who signs in. Owns nothing: jobs belong to a tenant."""

    standing: Standing | None = None  # where it was read together with the user


def check_senders(value: Any) -> None:
    if not isinstance(value, list) or not all(isinstance(one, str) and "@" in one for one in value):
        raise ValidationError('Give a list such as ["shop@example.com", "@example.org"].')


class Tenant(models.Model):
    """A team, or one person alone: the border no query crosses."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=150)
    members = models.ManyToManyField(User, through="Membership", related_name="tenants")
    senders = models.JSONField(
        default=list,
        blank=True,
        validators=[check_senders],
        help_text='Addresses its mails may be from, and whole domains: ["shop@example.com", "@example.org"]. '
        "The system's own sender is always allowed.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """That a user belongs to a tenant, and as what."""

    class Role(models.TextChoices):
        OWNER = "owner"
        MEMBER = "member"
        VIEWER = "viewer"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "user"], name="one_membership_a_tenant")]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant} ({self.role})"
