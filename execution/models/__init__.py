"""What executors have found out and others want to know, who else may run executions, and the files of tasks."""

from execution.models.destination import Destination, Meeting
from execution.models.pace import TaskPace
from execution.models.upload import Upload
from execution.models.worker_key import WorkerKey

__all__ = ["Destination", "Meeting", "TaskPace", "Upload", "WorkerKey"]
