"""The nouns: jobs, their executions, the attempts that went wrong, what handlers said, who did what, what is wrong.

Models know neither scheduling nor execution. A change to one row is a verb here; what crosses
into the due index, the broker or the audit trail is a function in `jobs.services`.
"""

from jobs.models.alert import AlertRule
from jobs.models.attempt import Attempt
from jobs.models.audit import AuditEvent
from jobs.models.cohort import Cohort
from jobs.models.execution import Execution
from jobs.models.horizon import Horizon
from jobs.models.idempotency import IdempotencyKey
from jobs.models.incident import Incident, Mention
from jobs.models.job import Job
from jobs.models.notice import Notice
from jobs.models.presence import Presence
from jobs.models.replay import Replay
from jobs.models.term import JobTerm
from jobs.models.watch import Watch
from jobs.models.words import LogLine, Progress

__all__ = [
    "AlertRule",
    "Attempt",
    "AuditEvent",
    "Cohort",
    "Execution",
    "Horizon",
    "IdempotencyKey",
    "Incident",
    "Job",
    "JobTerm",
    "LogLine",
    "Mention",
    "Notice",
    "Presence",
    "Progress",
    "Replay",
    "Watch",
]
