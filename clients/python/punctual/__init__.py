"""Drives a Punctual job scheduler.

    from punctual import Punctual, cron

    with Punctual("http://127.0.0.1:8000", key="…") as punctual:
        job = punctual.jobs.create("send_email", {"to": "you@example.com", "subject": "Hello", "body": "…"},
                                   schedule=cron("30 10 * * 5", timezone="Asia/Jakarta"))
        punctual.jobs.run(job.id).wait()

Creating is safe to repeat: every request for it carries an idempotency key, so that a lost answer makes no second job.
"""

from punctual.client import Punctual
from punctual.errors import (
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    PunctualError,
    RateLimited,
    Refused,
    StillGoing,
    Unreachable,
)
from punctual.models import Alert, Execution, Fault, Incident, Job, Outcome
from punctual.schedules import at, cron, every

__all__ = [
    "Alert",
    "Conflict",
    "Execution",
    "Fault",
    "Incident",
    "Invalid",
    "Job",
    "NotAllowed",
    "NotFound",
    "Outcome",
    "Punctual",
    "PunctualError",
    "RateLimited",
    "Refused",
    "StillGoing",
    "Unreachable",
    "at",
    "cron",
    "every",
]
