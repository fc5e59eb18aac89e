"""Jobs that give each part of the dashboard something to show: running, retried, recovered, dead, skipped, due."""

from __future__ import annotations

from functools import partial

from django.conf import settings

from accounts.models import Tenant, User
from jobs import services
from jobs.models import Job
from jobs.policies import Misfire, Overlap
from jobs.services import NewJob
from jobs.states import Priority

BERLIN, JAKARTA, NEW_YORK = "Europe/Berlin", "Asia/Jakarta", "America/New_York"


# What came due while the demo was not running is not made up for: it starts from now.
_job = partial(NewJob, misfire=Misfire.SKIP)


def _mail(subject: str) -> dict[str, str]:
    return {"to": "you@example.com", "subject": subject, "body": f"{subject}. Sent by Punctual."}


def _every(seconds: int) -> dict[str, str | int]:
    return {"type": "interval", "seconds": seconds}


def _cron(expression: str, zone: str = "UTC") -> dict[str, str]:
    return {"type": "cron", "expression": expression, "timezone": zone}


MAILS = [
    _job("send_email", _mail("Welcome"), name="Welcome mail, once and at once", priority=Priority.HIGH),
    _job("send_email", _mail("Half a minute has passed"), _every(30), name="Every half minute"),
    _job(
        "send_email",
        _mail("Weekly report"),
        _cron("30 10 * * 5", JAKARTA),
        name="Weekly report, Fridays 10:30 in Jakarta",
    ),
    _job(
        "send_email",
        _mail("Good night"),
        _cron("0 2 * * *", BERLIN),
        name="Nightly, at two in Berlin, also when the clocks change",
        priority=Priority.LOW,
    ),
]
# These need the demo's own tasks.
LIVELY = [
    _job("demo_ping", {}, _every(3), name="Ping the gateway"),
    _job("demo_report", {"seconds": 13}, _every(15), name="Stock report"),
    _job("demo_report", {"seconds": 9}, _every(6), name="Search index, longer than its interval", overlap=Overlap.SKIP),
    _job("demo_sync", {"failures": 1}, _every(10), name="Warehouse sync, recovers at the second attempt"),
    _job("demo_sync", {"failures": 2}, _every(40), name="Exchange rates, recover at the third attempt"),
    _job("demo_charge", {}, _every(60), name="Charge a declined card"),
    _job("demo_charge", {}, None, name="Refund, declined for good"),
    _job("demo_report", {"seconds": 2}, _cron("H/15 * * * *"), name="Quarter-hourly figures"),
    _job("demo_report", {"seconds": 20}, _cron("0 * * * *"), name="Hourly roll-up"),
    _job("demo_report", {"seconds": 4}, _cron("*/5 9-17 * * 1-5", NEW_YORK), name="Trading hours in New York"),
    _job("demo_sync", {"failures": 0}, _cron("*/10 22-23,0-5 * * *", BERLIN), name="Night sync"),
]


def demo_jobs() -> list[NewJob]:
    return [*MAILS, *LIVELY] if settings.DEMO else MAILS


def create_demo_jobs(tenant: Tenant, owner: User) -> int:
    """Create those the tenant does not have yet; return how many."""
    known = set(Job.objects.for_tenant(tenant).values_list("name", flat=True))
    wanted = [job for job in demo_jobs() if job.name not in known]
    for job in wanted:
        services.create_job(job, tenant=tenant, actor=owner)
    return len(wanted)
