"""What executors have found out and others want to know, and who else may run executions."""

from execution.models.destination import Destination, Meeting
from execution.models.pace import TaskPace
from execution.models.worker_key import WorkerKey

__all__ = ["Destination", "Meeting", "TaskPace", "WorkerKey"]
