"""The nouns: jobs, their executions, the attempts that went wrong, and who did what.

Models know neither scheduling nor execution. A change to one row is a verb here; what crosses
into the due index, the broker or the audit trail is a function in `jobs.services`.
"""

from jobs.models.attempt import Attempt
from jobs.models.audit import AuditEvent
from jobs.models.execution import Execution
from jobs.models.job import Job
from jobs.models.presence import Presence
from jobs.models.replay import Replay

__all__ = ["Attempt", "AuditEvent", "Execution", "Job", "Presence", "Replay"]
