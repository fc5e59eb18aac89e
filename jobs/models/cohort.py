"""Executions that were recorded together, while they are looked after together."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import F, Func, QuerySet


class IdsField(models.Field):
    """Ids of executions. Only PostgreSQL has cohorts, so elsewhere it holds nothing."""

    def db_type(self, connection: Any) -> str:
        return "uuid[]" if connection.vendor == "postgresql" else "text"


class CohortQuerySet(models.QuerySet["Cohort"]):
    def members(self) -> QuerySet[Any]:
        """The ids of all that they stand for, a row each."""
        return self.order_by().values_list(Func(F("executions"), function="unnest", output_field=models.UUIDField()))


class Cohort(models.Model):
    """Stands for its executions in the list of what is to be looked at, for the seconds that most of them take.

    Each is listed by itself only if it is not over when `look_at` has come. So most are never listed, and what is never
    listed can be moved without touching an index: see `Execution.fresh`.
    """

    id = models.BigAutoField(primary_key=True)
    look_at = models.DateTimeField(db_index=True)
    executions = IdsField()

    objects = CohortQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.pk}, to be looked at {self.look_at}"
