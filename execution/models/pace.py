"""How long handlers take, as executors have measured it."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import models


class TaskPaceQuerySet(models.QuerySet["TaskPace"]):
    def write(self, seconds: Mapping[str, float]) -> None:
        """Keep these, by task. Give them in one order everywhere, so that no two writers wait for each other."""
        self.bulk_create(
            [TaskPace(task=task, seconds=value) for task, value in seconds.items()],
            update_conflicts=True,
            unique_fields=["task"],
            update_fields=["seconds"],
        )


class TaskPace(models.Model):
    """How long a handler of a task takes these days."""

    task = models.CharField(max_length=100, primary_key=True)
    seconds = models.FloatField()

    objects = TaskPaceQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.task}: {self.seconds:g} s"
