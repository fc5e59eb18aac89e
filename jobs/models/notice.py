"""The notice: what a rule has to tell, on its way."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import models
from django.db.models import Case, F, Q, Value, When, Window
from django.db.models.functions import RowNumber

from jobs.ids import new_job_id
from jobs.models.alert import AlertRule

LONGEST_TOLD = 300  # characters of why a notice did not arrive


class NoticeQuerySet(models.QuerySet["Notice"]):
    def due(self, now: datetime, under_way: Mapping[UUID, int] | None = None) -> NoticeQuerySet:
        """Those to be sent now. What the settings ask for goes first: it is about everybody.

        Then each tenant's first, each tenant's second and so on, where what it has `under_way` comes before: one with
        very many, or whose receivers hang, gets no more places than others ask for.
        """
        place = Window(RowNumber(), partition_by=F("rule__tenant"), order_by=[F("try_at"), F("id")])
        before = [When(rule__tenant=tenant, then=Value(count)) for tenant, count in (under_way or {}).items()]
        turn = place + Case(*before, default=Value(0))
        of_tenants = Case(When(rule__tenant=None, then=Value(0)), default=Value(1))
        return self.filter(try_at__lte=now).order_by(of_tenants, turn, "try_at", "id")


class Notice(models.Model):
    """What is sent, once, to whoever a rule names. Its id is the idempotency key of every try.

    Has `try_at` while, and only while, it is neither sent nor given up.
    """

    id = models.UUIDField(primary_key=True, default=new_job_id, editable=False)
    rule = models.ForeignKey(AlertRule, models.CASCADE, related_name="notices", db_index=False)
    content = models.JSONField()
    attempts = models.PositiveIntegerField(default=0)
    try_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=LONGEST_TOLD, blank=True, default="")  # of the latest try
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)

    objects = NoticeQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["rule", "-id"], name="notices_of_a_rule"),
            models.Index(fields=["try_at"], name="notices_to_send", condition=Q(try_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"notice {self.id}"

    def take(self, until: datetime) -> bool:
        """Make the next try ours, until then. False where somebody else has."""
        mine = Notice.objects.filter(pk=self.pk, attempts=self.attempts, try_at__isnull=False)
        taken = mine.update(attempts=self.attempts + 1, try_at=until)
        self.attempts += taken
        return bool(taken)

    def put_off(self, until: datetime, why: str) -> None:
        """Have the next try wait, uncounted, unless somebody else has begun it."""
        self._ours().filter(try_at__isnull=False).update(try_at=until, error=why[:LONGEST_TOLD])

    def sent(self, now: datetime, complaint: str = "") -> None:
        self._ours().update(try_at=None, sent_at=now, error=complaint[:LONGEST_TOLD])

    def failed(self, error: str, again_at: datetime | None) -> None:
        """Not sent; tried again at that time, or given up, unless its rule was switched off meanwhile."""
        self._ours().filter(try_at__isnull=False).update(try_at=again_at, error=error[:LONGEST_TOLD])

    def _ours(self) -> NoticeQuerySet:
        """Only while the try is still ours: whoever took the next one speaks for it."""
        return Notice.objects.filter(pk=self.pk, attempts=self.attempts, sent_at=None)
