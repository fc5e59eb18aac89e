"""The known address: that an account was signed in to from a network address before."""

from __future__ import annotations

from django.db import models


class KnownAddress(models.Model):
    """Neither the account nor the address can be read from it, and an account that does not exist has none."""

    digest = models.CharField(max_length=64, primary_key=True)
    seen_at = models.DateTimeField(db_index=True)  # to the day

    def __str__(self) -> str:
        return f"{self.digest[:12]} until {self.seen_at:%Y-%m-%d}"
