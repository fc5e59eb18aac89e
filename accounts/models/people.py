"""Users, tenants, and who belongs where."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Exists, OuterRef

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

    # The address that its owner has proved to read. Any change of `email` makes the two differ, which means unverified.
    verified_email = models.EmailField(
        max_length=254,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="Verified while it equals the email address.",
    )

    sign_outs = models.PositiveIntegerField(default=0, db_default=0, editable=False)  # everywhere: ends all sessions

    standing: Standing | None = None  # where it was read together with the user

    @classmethod
    def normalize_username(cls, username: str) -> str:
        """The name in its normal form. One that is too long to be anybody's stays as it is.

        The cost of the normal form is quadratic in the number of combining characters, and strangers send names.
        """
        too_long = isinstance(username, str) and len(username) > cls._meta.get_field("username").max_length
        return username if too_long else super().normalize_username(username)

    @property
    def has_verified_address(self) -> bool:
        return bool(self.email) and self.verified_email == self.email

    def note_verified(self, address: str) -> None:
        """Note that the user reads mail to `address`. Guarded: the user may have another address by now."""
        if type(self).objects.filter(pk=self.pk, email=address).update(verified_email=address):
            self.verified_email = address

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save; a new password, or none any more, signs out everywhere: the old one may have leaked."""
        changed = not self._state.adding and (self._password is not None or not self.has_usable_password())
        # The row is locked from the first statement on, so that a sign-in with the old password either ended before,
        # and loses its tokens here, or finds the new password: see `accounts.tokens.sign_in`.
        with transaction.atomic():
            super().save(*args, **kwargs)
            if changed:
                self.token_families.all().delete()

    @transaction.atomic
    def sign_out_everywhere(self) -> None:
        """End every session and every token, on all devices."""
        type(self).objects.filter(pk=self.pk).update(sign_outs=models.F("sign_outs") + 1)
        self.refresh_from_db(fields=["sign_outs"])  # else a later save of this object would undo it
        self.token_families.all().delete()

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """What a session must know. Django's own until the first sign-out everywhere: an upgrade ends no session."""
        usual = super()._get_session_auth_hash(secret)
        return f"{usual}.{self.sign_outs}" if self.sign_outs else usual


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
    mail_rate = models.PositiveIntegerField(
        null=True, blank=True, help_text=f"Recipients of its mails, an hour. {OF_SETTINGS}"
    )
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


def owned_by(maker: str) -> Exists:
    """Whether the user in this column is now an active owner of the row's tenant."""
    owners = Membership.objects.filter(role=Membership.Role.OWNER, user__is_active=True)
    return Exists(owners.filter(tenant=OuterRef("tenant"), user=OuterRef(maker)))
