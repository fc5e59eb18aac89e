"""The replay that tries a few dead letters before it runs the others."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import Tenant
from jobs.ids import new_job_id
from jobs.models.listing import JSONArrayLength, Listed, listed_annotations
from jobs.states import REPLAY_TRANSITIONS, IllegalMove, ReplayState, choices
from scheduler_project.origin import TRACEPARENT, Origin


class ReplayQuerySet(models.QuerySet["Replay"]):
    def for_tenant(self, tenant: Tenant) -> ReplayQuerySet:
        return self.filter(tenant=tenant)

    def in_list(self) -> ReplayQuerySet:
        """As a list shows them: see `jobs.models.listing`. Of the others it tells the number alone."""
        documents = listed_annotations(*Replay.LONG)
        return self.defer("others", *Replay.LONG).annotate(others_count=JSONArrayLength("others"), **documents)

    def to_look_at(self, now: datetime) -> ReplayQuerySet:
        """Those that have something to be done for them, or to be seen."""
        return self.filter(look_at__lte=now).order_by("look_at")


class Replay(Listed, models.Model):
    """Which dead letters were tried, which wait for them, and how far that has come.

    Has `look_at` while, and only while, it is not over.
    """

    LONG = ("payload",)

    id = models.UUIDField(primary_key=True, default=new_job_id, editable=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="replays", db_index=False)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    request_id = models.CharField(max_length=64, null=True)  # noqa: DJ001 - not all are asked for over HTTP
    traceparent = models.CharField(max_length=TRACEPARENT, null=True)  # noqa: DJ001 - where that request was traced
    state = models.CharField(max_length=10, choices=choices(ReplayState), default=ReplayState.TRYING)
    payload = models.JSONField(null=True)  # what all of them are given instead of their own
    canaries = models.JSONField()  # ids of the executions that are tried first
    others = models.JSONField()  # … and of those that follow, in the order in which they do
    gone_through = models.PositiveIntegerField(default=0)  # of the others
    replayed = models.PositiveIntegerField(default=0)  # of them: the rest was no longer there to be replayed
    reason = models.CharField(max_length=300, blank=True, default="")  # why it was stopped
    look_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    objects = ReplayQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["tenant", "-id"], name="replays_of_a_tenant"),
            models.Index(fields=["look_at"], name="replays_to_look_at", condition=Q(look_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"replay of {len(self.canaries) + len(self.others)} dead letters, {self.state}"

    @property
    def origin(self) -> Origin:
        return Origin(self.request_id, self.traceparent)

    def look_again(self, at: datetime) -> None:
        self._change(look_at=at)

    def go_on(self, now: datetime) -> None:
        """The canaries have completed."""
        self._move(ReplayState.GOING_ON, look_at=now)

    def advance(self, *, gone_through: int, replayed: int, now: datetime) -> None:
        """So many more of the others were gone through."""
        done = {"gone_through": self.gone_through + gone_through, "replayed": self.replayed + replayed}
        self._change(**done, look_at=now)

    def stop(self, reason: str, now: datetime) -> None:
        longest = self._meta.get_field("reason").max_length
        self._move(ReplayState.STOPPED, reason=reason[:longest], look_at=None, finished_at=now)

    def finish(self, now: datetime) -> None:
        self._move(ReplayState.DONE, look_at=None, finished_at=now)

    def _move(self, target: ReplayState, **changes: Any) -> None:
        if target not in REPLAY_TRANSITIONS[ReplayState(self.state)]:
            raise IllegalMove(f"A replay that is {self.state} cannot become {target}.")
        self._change(state=target, **changes)

    def _change(self, **changes: Any) -> None:
        """Call it in a transaction that holds the row's lock."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.save(update_fields=list(changes))
