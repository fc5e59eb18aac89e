"""A watcher and a courier that go by a clock of the test's own, and rules for them to tell by."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from accounts.models import Tenant
from execution.registry import registry
from jobs.alerts import rules
from jobs.alerts.courier import Courier, Deliver
from jobs.alerts.delivery import deliver
from jobs.alerts.watcher import Patience, Watcher
from jobs.ids import new_job_id
from jobs.limits import Limits
from jobs.models import AlertRule, Execution, Job, Notice, Presence
from jobs.states import FINAL, Status

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOURLY = {"type": "interval", "seconds": 3600}
ROLES = ("poller", "executor", "recoverer")
LIMITS = Limits(max_retries=3, retry_delay=SECOND, retry_delay_cap=MINUTE)


class Watched:
    """An installation whose processes are there, or not, as the test says."""

    def __init__(self) -> None:
        self.time = timezone.now()
        patience = Patience(30 * SECOND, 60 * SECOND, 20 * SECOND, 5 * MINUTE)
        self.watcher = Watcher(registry, clock=self, patience=patience)
        self.couriers: list[Courier] = []

    def now(self) -> datetime:
        return self.time

    def look(self, *, after: timedelta = timedelta(), without: tuple[str, ...] = ()) -> list[Notice]:
        """Look that much later, with all processes there but these; return the notices that were written."""
        self.time += after
        for role in ROLES:
            if role in without:
                Presence.objects.filter(role=role).delete()
            else:
                appear(role, self.time)
        known = set(Notice.objects.values_list("pk", flat=True))
        self.watcher.tick()
        return [notice for notice in Notice.objects.order_by("pk") if notice.pk not in known]

    def courier(self, deliver: Deliver = deliver) -> Courier:
        self.couriers.append(Courier(deliver, clock=self, limits=LIMITS))
        return self.couriers[-1]

    def deliver(self, by: Courier | None = None) -> int:
        """Make one try for what is due, and wait for how it ends; return how many."""
        courier = by or self.courier()
        begun = courier.tick()
        courier.finish()
        return begun

    def stop(self) -> None:
        for courier in self.couriers:
            courier.stop()


def appear(role: str, seen_at: datetime) -> None:
    tasks = registry.names() if role == "executor" else []
    Presence.objects.update_or_create(
        id=f"{role}:test",
        defaults={
            "role": role,
            "name": "t",
            "host": "t",
            "pid": 1,
            "since": seen_at,
            "seen_at": seen_at,
            "tasks": tasks,
        },
    )


def rule_of(tenant: Tenant, **changes: Any) -> AlertRule:
    values = {"name": "On call", "channel": "email", "emails": ["oncall@example.com"], "pause": 60.0} | changes
    return rules.create_rule(values, tenant=tenant, actor=None)


def due_at(job: Job, due: datetime) -> Job:
    Job.objects.filter(pk=job.pk).update(next_run_at=due, due_for=None)
    job.refresh_from_db()
    return job


def due_later(job: Job) -> Job:
    """As if its due time had been recorded, and the next is far away."""
    return due_at(job, timezone.now() + timedelta(days=1))


def execution_of(job: Job, due: datetime, status: Status, **changes: Any) -> Execution:
    over = status in FINAL
    return Execution.objects.create(
        id=new_job_id(due),
        job=job,
        tenant=job.tenant,
        task=job.task,
        priority=job.priority,
        due_at=due,
        not_before=due,
        recorded_at=due,
        status=status,
        wake_at=None if over else due,
        finished_at=changes.pop("finished_at", due) if over else None,
        **changes,
    )


def told(notice: Notice) -> list[tuple[str, str, str]]:
    return [(line["kind"], line["state"], line["title"]) for line in notice.content["incidents"]]
