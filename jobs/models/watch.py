"""The watch: what watchers remember, and the lock that lets one of them look."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection, models

THE_ONE = 1  # row
LATELY = timedelta(minutes=1)  # when somebody must have looked, for all to be well
# Whoever is cut off from the database in the middle of a look would hold the lock for as long as the server believes in
# the connection: hours.
GIVEN_UP = "SET LOCAL idle_in_transaction_session_timeout = '30s'"


class WatchManager(models.Manager["Watch"]):
    def hold(self) -> Watch | None:
        """The row, locked until the transaction ends; None while somebody else holds it."""
        self.get_or_create(pk=THE_ONE)
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(GIVEN_UP)
        return self.select_for_update(skip_locked=True).filter(pk=THE_ONE).first()

    def looked_lately(self, now: datetime) -> bool:
        return self.filter(looked_at__gt=now - LATELY).exists()


class Watch(models.Model):
    """One row: what watchers remember from one look to the next. Whoever holds its lock is the one who looks."""

    looked_at = models.DateTimeField(null=True)
    memory = models.JSONField(default=dict)

    objects = WatchManager()

    class Meta:
        verbose_name_plural = "watches"

    def __str__(self) -> str:
        return f"looked at {self.looked_at}"
