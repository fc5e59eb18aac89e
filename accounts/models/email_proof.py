"""The email proof: that a token was mailed to a user's address, and is waited for."""

from __future__ import annotations

from datetime import datetime

from django.db import models

from accounts.models.people import User


class EmailProofQuerySet(models.QuerySet["EmailProof"]):
    def usable(self, now: datetime) -> EmailProofQuerySet:
        return self.filter(expires_at__gt=now)


class EmailProof(models.Model):
    """One a user, of the latest token mailed; used, it is gone. The token is stored as a hash only."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="email_proof")
    email = models.EmailField(max_length=254)  # where the token went: the user may have another address by now
    digest = models.CharField(max_length=64)
    expires_at = models.DateTimeField()

    objects = EmailProofQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.email} of {self.user}"
