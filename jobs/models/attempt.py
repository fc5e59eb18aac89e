"""The attempt: one try at an execution that did not end well."""

from __future__ import annotations

from django.db import models

from jobs.models.execution import Execution
from jobs.states import AttemptOutcome, choices


class Attempt(models.Model):
    """Kept for every attempt that failed or is in doubt; a successful one is told by the execution itself."""

    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    number = models.PositiveIntegerField()
    outcome = models.CharField(max_length=10, choices=choices(AttemptOutcome))
    error = models.TextField()
    traceback = models.TextField(blank=True, default="")
    worker = models.CharField(max_length=100, blank=True, default="")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField()

    class Meta:
        ordering = ["execution", "number"]
        constraints = [models.UniqueConstraint(fields=["execution", "number"], name="one_row_an_attempt")]

    def __str__(self) -> str:
        return f"attempt {self.number}: {self.outcome}"
