"""Users, tenants, and who belongs where."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models

if TYPE_CHECKING:
    from accounts.models.api_key import ApiKey

OF_SETTINGS = "Empty: what the settings say. 0: no limit."


class Standing(NamedTuple):
    """What a user is in the tenant that a request speaks for."""

    wanted: str | None  # the tenant, as the request names it
    membership: Membership | None
    key: ApiKey | None = None  # if it is a key that asks, in its creator's name


class User(AbstractUser):
    """A person who signs in. Owns nothing: jobs belong to a tenant."""

    standing: Standing | None = None  # where it was read together with the user

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Whoever sets a new password signs out everywhere: the old one may be why."""
        changed = self._password is not None and not self._state.adding
        super().save(*args, **kwargs)
        if changed:
            self.token_families.all().delete()


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
        db_default=models.Value([], models.JSONField()),  # for releases that do not know of it: docs/operations.md
        blank=True,
        validators=[check_senders],
        help_text='Addresses its mails may be from, and whole domains: ["shop@example.com", "@example.org"]. '
        "The system's own sender is always allowed.",
    )
    rate_limit = models.PositiveIntegerField(null=True, blank=True, help_text=f"Requests a minute. {OF_SETTINGS}")
    max_active_jobs = models.PositiveIntegerField(
        null=True, blank=True, help_text=f"Jobs that have a due time ahead. {OF_SETTINGS}"
    )
    max_payload_bytes = models.PositiveIntegerField(
        null=True, blank=True, help_text=f"Of one job's payload, as JSON. {OF_SETTINGS}"
    )
    max_executions_a_day = models.PositiveIntegerField(
        null=True, blank=True, help_text=f"Of a day in UTC; beyond, what people ask for is refused. {OF_SETTINGS}"
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

    @property
    def owns(self) -> bool:
        return self.role == self.Role.OWNER
