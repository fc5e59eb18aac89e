"""What handlers say while they run, in tables of their own: an execution's row is busy enough."""

from __future__ import annotations

from django.db import models

from jobs.models.execution import Execution
from jobs.states import Level, choices


class LogLine(models.Model):
    """A line that an attempt kept. Its number makes it one of a kind, also among lines that say the same."""

    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="log_lines", db_index=False)
    attempt = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    at = models.DateTimeField()
    level = models.CharField(max_length=10, choices=choices(Level))
    text = models.TextField()

    class Meta:
        ordering = ["execution", "attempt", "number"]
        constraints = [models.UniqueConstraint(fields=["execution", "attempt", "number"], name="one_row_a_line")]

    def __str__(self) -> str:
        return f"{self.level}: {self.text}"


class Progress(models.Model):
    """How far an execution is, as its latest attempt that said anything said last."""

    execution = models.OneToOneField(Execution, on_delete=models.CASCADE, primary_key=True, related_name="progress")
    attempt = models.PositiveIntegerField()
    number = models.PositiveIntegerField()  # of two things said by one attempt, the later has the higher
    fraction = models.FloatField()
    message = models.TextField(blank=True, default="")
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.fraction:.0%} {self.message}".strip()
