"""The people of the crawl, and something of every kind for each of them to see: `python -m tests.browser.cast`.

Runs beside an installation, on its database: the API cannot make staff, nor history that is hours old.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import django

PASSWORD = "correct horse battery"
# Who is in the admin only by groups has no tenant: such people exist.
MEMBERS = {"victor": "viewer", "mary": "member", "olga": "owner", "steve": "owner"}
STAFF: dict[str, tuple[str, ...]] = {"steve": (), "sue": ("Operators",)}
SUPERUSER = "admin"


def prepare() -> dict[str, Any]:
    from django.contrib.auth.models import Group
    from django.core.management import call_command
    from django.utils import timezone

    from accounts.models import Membership, Tenant, User
    from execution.models import Destination, WorkerKey

    call_command("make_admin_groups", verbosity=0)
    for name in {**MEMBERS, **STAFF}:
        user = User.objects.create_user(name, f"{name}@example.com", PASSWORD, is_staff=name in STAFF)
        user.groups.set(Group.objects.filter(name__in=STAFF.get(name, ())))
    for name, role in MEMBERS.items():
        tenant = Tenant.objects.create(name=f"Tenant of {name}")
        Membership.objects.create(tenant=tenant, user=User.objects.get(username=name), role=role)
        second = Tenant.objects.create(name=f"Second tenant of {name}")
        Membership.objects.create(tenant=second, user=User.objects.get(username=name), role=role)
        fill(tenant, User.objects.get(username=name))
    admin = User.objects.get(username=SUPERUSER)
    fill(admin.tenants.get(), admin)
    now = timezone.now()
    Destination.objects.create(name="smtp.example.com:25", since=now, probe_at=now, touched_at=now)
    WorkerKey.objects.create(name="a worker", tasks=["demo_ping"], digest="0" * 64, created_at=now)
    return {"superuser": admin.pk}


def fill(tenant: Any, user: Any) -> None:
    """Jobs in every state, executions in every status, dead letters, logs, incidents, rules and keys."""
    from django.utils import timezone

    from accounts import keys
    from jobs import services
    from jobs.alerts import rules
    from jobs.models import Attempt, Incident, LogLine, Progress
    from jobs.services import NewJob
    from jobs.states import AttemptOutcome, Status

    now = timezone.now()
    hourly = {"type": "cron", "expression": "0 3 * * *", "timezone": "Asia/Jakarta"}

    def job(name: str) -> Any:
        new = NewJob("demo_charge", {"failures": 1}, hourly, name=name, tags=["billing"])
        return services.create_job(new, tenant=tenant, actor=user)

    services.pause_job(job("Paused"), actor=user)
    services.cancel_job(job("Cancelled"), actor=user)
    active = job("Active")
    for number, status in enumerate((Status.SCHEDULED, Status.COMPLETED, Status.SKIPPED, Status.CANCELLED)):
        one = record(active, now - timedelta(hours=number), status)
        Progress.objects.create(execution=one, attempt=1, number=1, fraction=0.5, message="half", at=now)
        LogLine.objects.create(execution=one, attempt=1, number=1, at=now, level="info", text="a line")
    for number in range(4):
        due = now - timedelta(minutes=10 + number)
        error = f"ValueError: cause {number % 2}"
        one = record(active, due, Status.FAILED, error=error, fingerprint=f"cause{number % 2}", finished_at=due)
        Attempt.objects.create(
            execution=one, number=1, outcome=AttemptOutcome.FAILED, error=error, traceback="Traceback", finished_at=due
        )
    deleted = job("Deleted")
    record(deleted, now - timedelta(minutes=1), Status.FAILED, error="late", fingerprint="late", finished_at=now)
    services.delete_job(deleted, actor=user)
    Incident.objects.create(
        key=f"crawl-{tenant.pk}",
        subject=str(active.pk),
        kind="missed",
        tenant=tenant,
        job=active,
        since=now,
        last_at=now,
        opened_at=now,
        title="Active",
    )
    rule = {"name": "Tell me", "channel": "email", "emails": ["ops@example.com"], "kinds": ["failed"]}
    rules.create_rule(rule, tenant=tenant, actor=user)
    keys.create_key(tenant=tenant, creator=user, name="deploys", scopes=["read"])


def record(job: Any, due: Any, status: Any, **values: Any) -> Any:
    from jobs.ids import execution_id
    from jobs.models import Execution
    from jobs.states import UNFINISHED, Cause

    later = due + timedelta(days=7) if status in UNFINISHED else None  # nobody takes it up while it is looked at
    return Execution.objects.create(
        id=execution_id(job.id, due, Cause.SCHEDULE),
        job=job,
        tenant_id=job.tenant_id,
        task=job.task,
        priority=job.priority,
        status=status,
        due_at=due,
        not_before=later or due,
        wake_at=later,
        recorded_at=due,
        attempt=0 if status in UNFINISHED else 1,
        **values,
    )


if __name__ == "__main__":
    django.setup()
    print(json.dumps(prepare()))
