"""Destinations in trouble, and who has met them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from django.db import models

from accounts.models import Tenant
from execution.release import Release

OF_A_TENANT = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} ")
SOONEST = timedelta(milliseconds=100)  # to come back to a destination: sooner is a waste


class DestinationQuerySet(models.QuerySet["Destination"]):
    def met_by(self, tenant: Tenant) -> DestinationQuerySet:
        """Those that work of this tenant has met: whom others talk to is theirs."""
        return self.filter(meetings__tenant_id=tenant.pk)

    def down(self) -> DestinationQuerySet:
        return self.filter(state=Destination.State.DOWN)

    def untouched_since(self, instant: datetime) -> DestinationQuerySet:
        return self.filter(touched_at__lt=instant)


class Destination(models.Model):
    """A peer that has failed lately, and whether work for it goes on. One that is well has no row.

    Its verbs change the row in memory: whoever calls them holds its lock, and saves it.
    """

    class State(models.TextChoices):
        TROUBLED = "troubled"  # it has failed, but not often enough in a row
        DOWN = "down"  # work for it waits; one probe at a time finds out whether it has to
        RECOVERING = "recovering"  # it has answered, and work for it is let go at a growing pace

    name = models.CharField(max_length=300, primary_key=True)  # after a tenant's id, if it is that tenant's alone
    state = models.CharField(max_length=10, choices=State.choices, default=State.TROUBLED)
    failures = models.PositiveIntegerField(default=0)  # in a row
    error = models.CharField(max_length=100, default="")  # what kind; its words may be about somebody else's work
    since = models.DateTimeField()  # when the first of these failures was
    probe_at = models.DateTimeField()  # while it is down: when the next probe may go
    probe_pause = models.FloatField(default=0)  # seconds from a probe that failed to the next
    places = models.PositiveIntegerField(default=0)  # given to those who wait, since the last probe
    answered_at = models.DateTimeField(null=True)  # while it recovers: since when
    released = models.PositiveIntegerField(default=0)  # while it recovers: how many were let go
    touched_at = models.DateTimeField()

    objects = DestinationQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        """What it is called, by those who see no others' anyway."""
        return OF_A_TENANT.sub("", self.name)

    @property
    def is_down(self) -> bool:
        return self.state == self.State.DOWN

    def fail(self, now: datetime, error: str, *, anew: bool, limit: int, pause: timedelta, longest: timedelta) -> None:
        """Note a failure. `limit` of them in a row, and it is down; `anew` says that this one is the first in a row."""
        self.touched_at = now
        self.error = error
        self.failures = 1 if anew and self.state == self.State.TROUBLED else self.failures + 1
        if self.failures == 1:
            self.since = now
        if self.is_down:
            self.probe_pause = min(2 * self.probe_pause, longest.total_seconds())
        elif self.failures >= limit:
            self.state = self.State.DOWN
            self.probe_pause = pause.total_seconds()
        else:
            return
        self.probe_at = now + timedelta(seconds=self.probe_pause)
        self.places = 0

    def answer(self, now: datetime) -> None:
        """Note that it has answered: whoever waited is let go, the first at once and the others at a pace."""
        self.touched_at = now
        self.failures = 0
        if self.is_down:
            self.state = self.State.RECOVERING
            self.answered_at = now
            self.released = self.places = 0

    def begin_probe(self, now: datetime, lease: timedelta) -> bool:
        """Whether the caller is the one to probe it. Nobody else is, until it has said what came of it, or `lease`."""
        if now < self.probe_at:
            return False
        self.touched_at = now
        self.probe_at = now + lease
        return True

    def let_go(self, now: datetime, release: Release) -> bool:
        """Whether the caller may go now that it recovers."""
        if self.released >= release.count(self._recovering(now)):
            return False
        self.touched_at = now
        self.released += 1
        return True

    def has_recovered(self, now: datetime, release: Release) -> bool:
        return self.state == self.State.RECOVERING and self._recovering(now) >= release.over_after

    def take_places(self, count: int) -> int:
        """The first of `count` places among those who wait."""
        first, self.places = self.places, self.places + count
        return first

    def back_at(self, place: int, now: datetime, release: Release) -> datetime:
        """When whoever has this place should come again."""
        if self.is_down:
            # Not after a probe that is under way: that may be given a long time, and mostly takes a moment.
            begin = min(self.probe_at, now + timedelta(seconds=self.probe_pause))
        else:
            begin, place = self.answered_at or now, place + self.released
        return max(begin + timedelta(seconds=release.place(place)), now + SOONEST)

    def _recovering(self, now: datetime) -> float:
        return (now - self.answered_at).total_seconds() if self.answered_at else 0.0


class Meeting(models.Model):
    """That work of a tenant has met a destination in trouble: so that it can be told of it, and others not."""

    destination = models.ForeignKey(Destination, on_delete=models.CASCADE, related_name="meetings")
    tenant_id = models.UUIDField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["destination", "tenant_id"], name="one_meeting_a_tenant")]

    def __str__(self) -> str:
        return f"{self.tenant_id} met {self.destination_id}"
