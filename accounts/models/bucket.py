"""The bucket: what is left of an allowance, as the database keeps it."""

from __future__ import annotations

from django.db import models


class Bucket(models.Model):
    """Known by when it is full again: from that follows how much is in it, at any instant, in one number.

    A bucket that is full is the same as none, so a lost row costs an allowance and nothing else. On PostgreSQL the
    table is unlogged: a request waits for no disk on its account.
    """

    name = models.CharField(max_length=100, primary_key=True)
    full_at = models.BigIntegerField(db_index=True)  # microseconds since 1970
    admitted = models.BooleanField()  # whether the last one to ask was given anything

    def __str__(self) -> str:
        return self.name
