"""The family: one sign-in, and all the tokens that came of it."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import models
from django.utils import timezone

from accounts.models.people import User


class TokenFamilyQuerySet(models.QuerySet["TokenFamily"]):
    def of_the_active(self) -> TokenFamilyQuerySet:
        """Those whose user may still come in.

        Not by a join: an UPDATE of joined rows looks for them first, and a rival that waited for the row would not see
        that it is no longer the one it looked for.
        """
        return self.filter(user__in=User.objects.filter(is_active=True))

    def over(self, now: datetime) -> TokenFamilyQuerySet:
        """Those whose last refresh token has expired: nothing can be done with them any more."""
        return self.filter(expires_at__lte=now)


class TokenFamily(models.Model):
    """There for as long as its tokens are good: to end it is to delete it, and all of them end with it.

    Only the newest refresh token can be used. Who brings an older one has stolen it, or has been stolen from.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="token_families")
    newest = models.CharField(max_length=32)  # the `jti` of the one refresh token that can be used
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()  # when that token does

    objects = TokenFamilyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "token families"

    def __str__(self) -> str:
        return f"{self.user} since {self.created_at:%Y-%m-%d %H:%M}"
