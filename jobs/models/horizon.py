"""The horizon: up to when history was let go, so that nobody takes what is forgotten for what never was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from django.db import models
from django.db.models import Max

from jobs.models.job import Job

OF_ALL = UUID(int=0)  # in place of a job


class HorizonQuerySet(models.QuerySet["Horizon"]):
    def of(self, job: Job) -> datetime | None:
        """Due times before this may have had an execution that is gone."""
        return self.filter(pk__in=(OF_ALL, job.pk)).aggregate(latest=Max("until"))["latest"]

    def move(self, until: Mapping[UUID, datetime]) -> None:
        """What was due before these times may be gone from now on: of a job, or of all. It never moves back."""
        known = dict(self.filter(pk__in=until).values_list("pk", "until"))
        further = [Horizon(pk, at) for pk, at in until.items() if pk not in known or known[pk] < at]
        self.bulk_create(further, update_conflicts=True, unique_fields=["job_id"], update_fields=["until"])

    def forget(self, jobs: Iterable[UUID]) -> None:
        self.filter(pk__in=list(jobs)).delete()


class Horizon(models.Model):
    """One row for all history, and one for each job that has lost some of its own."""

    job_id = models.UUIDField(primary_key=True)
    until = models.DateTimeField()

    objects = HorizonQuerySet.as_manager()

    def __str__(self) -> str:
        return f"pruned until {self.until:%Y-%m-%d %H:%M:%S}"
