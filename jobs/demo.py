"""Something to look at: a few jobs of each kind, for whoever runs Punctual for the first time."""

from __future__ import annotations

from accounts.models import Tenant, User
from jobs import services
from jobs.models import Job
from jobs.services import NewJob
from jobs.states import Priority


def _mail(subject: str) -> dict[str, str]:
    return {"to": "you@example.com", "subject": subject, "body": f"{subject}. Sent by Punctual."}


DEMO_JOBS = [
    NewJob("send_email", _mail("Welcome"), name="Welcome mail, once and at once", priority=Priority.HIGH),
    NewJob(
        "send_email",
        _mail("Half a minute has passed"),
        {"type": "interval", "seconds": 30},
        name="Every half minute",
    ),
    NewJob(
        "send_email",
        _mail("Weekly report"),
        {"type": "cron", "expression": "30 10 * * 5", "timezone": "Asia/Jakarta"},
        name="Weekly report, Fridays 10:30 in Jakarta",
    ),
    NewJob(
        "send_email",
        _mail("Good night"),
        {"type": "cron", "expression": "0 2 * * *", "timezone": "Europe/Berlin"},
        name="Nightly, at two in Berlin, also when the clocks change",
        priority=Priority.LOW,
    ),
]


def create_demo_jobs(tenant: Tenant, owner: User) -> int:
    """Create those the tenant does not have yet; return how many."""
    known = set(Job.objects.for_tenant(tenant).values_list("name", flat=True))
    wanted = [job for job in DEMO_JOBS if job.name not in known]
    for job in wanted:
        services.create_job(job, tenant=tenant, actor=owner)
    return len(wanted)
