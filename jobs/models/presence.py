"""That a process is there: what pollers, executors, recoverers and watchers say of themselves every other second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import models

VANISHES = timedelta(seconds=10)  # after the last word: five are missed by then
STUCK = timedelta(minutes=5)  # in one round: rebuilding an index of millions takes a poller a minute or two
FORGOTTEN = timedelta(hours=1)  # and the row is removed


class Present(NamedTuple):
    """How many processes there are, how many executors of each task, and how these get on."""

    roles: Counter[str]
    serving: Counter[str]
    concluded: Mapping[str, datetime]  # of each task, when an executor that serves it last settled an attempt
    overrun: Mapping[str, int]  # of each executor that holds any, executions past their time limit


class PresenceQuerySet(models.QuerySet["Presence"]):
    def present(self, now: datetime) -> PresenceQuerySet:
        return self.filter(seen_at__gt=now - VANISHES).order_by("role", "name")

    def counted(self, now: datetime) -> Present:
        present = list(self.present(now).only("role", "name", "tasks", "concluded_at", "overrun"))
        executors = [one for one in present if one.role == "executor"]
        by_time = sorted((one for one in executors if one.concluded_at), key=lambda one: one.concluded_at)
        return Present(
            Counter(one.role for one in present),
            Counter(task for one in executors for task in one.tasks),
            {task: one.concluded_at for one in by_time for task in one.tasks},
            {one.name: one.overrun for one in executors if one.overrun},
        )

    def forgotten(self, now: datetime) -> PresenceQuerySet:
        return self.filter(seen_at__lte=now - FORGOTTEN)


class Presence(models.Model):
    """A few rows, one for each process and role; nothing is decided by them, they are there to be looked at."""

    id = models.CharField(primary_key=True, max_length=120, editable=False)  # role and name
    role = models.CharField(max_length=20)
    name = models.CharField(max_length=100)  # an executor's is what executions have as their worker
    host = models.CharField(max_length=100)
    pid = models.PositiveIntegerField()
    version = models.CharField(max_length=20)
    since = models.DateTimeField()
    seen_at = models.DateTimeField()
    round_at = models.DateTimeField(null=True)  # when a round of its loop ended last; at first, when it started
    holding = models.PositiveIntegerField(default=0)  # executions
    overrun = models.PositiveIntegerField(default=0, db_default=0)  # of these, those past their time limit
    concluded_at = models.DateTimeField(null=True)  # when it last settled an attempt that a handler had ended
    room = models.PositiveIntegerField(default=0)  # for how many at once
    tasks = models.JSONField(default=list)

    objects = PresenceQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "presences"

    def __str__(self) -> str:
        return f"{self.role} {self.name}"

    @property
    def stuck(self) -> bool:
        """Whether it says that it is there, while its loop hangs inside a round."""
        return self.round_at is not None and self.seen_at - self.round_at > STUCK
