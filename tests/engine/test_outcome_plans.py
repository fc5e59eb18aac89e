"""Dead letters and the audit trail are found by an index, however long the history."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from benchmarks.acts import Act
from benchmarks.fleet import TASK
from benchmarks.load import history, tenant
from benchmarks.plans import explained, scanned
from execution.registry import registry, task
from jobs import dead_letters
from jobs.api.dead_letter_serializers import matching
from jobs.models import AuditEvent, Execution, Job
from tests.engine.conftest import Anything

pytestmark = pytest.mark.skipif(connection.vendor != "postgresql", reason="plans are PostgreSQL's")

STORED = 50_000  # executions, one in a thousand of them dead
EVENTS = 20_000


@pytest.fixture
def loaded(new_tables):
    task(TASK, payload=Anything)(lambda payload, run: None)
    history(STORED, of_jobs=100)
    dead_letters.name_causes(STORED)
    yield
    del registry._tasks[TASK]


def analyse() -> None:
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE jobs_execution")
        cursor.execute("VACUUM ANALYZE jobs_auditevent")


def test_counting_listing_and_finding_dead_letters_reads_no_history(loaded) -> None:
    analyse()
    team = tenant()
    [group] = dead_letters.groups(team)
    assert group.count == STORED // 997
    own = Execution.objects.for_tenant(team)
    month = {"start_time": timezone.now() - timedelta(days=30), "end_time": timezone.now()}

    asked = explained(
        [
            Act("causes", lambda: dead_letters.groups(team)),
            Act("of a cause", lambda: list(matching(own, {"fingerprint": group.fingerprint}).dead()[:50])),
            Act("of a window", lambda: list(matching(own, month).dead()[:50])),
            Act("to replay", lambda: dead_letters.find(own.filter(fingerprint=group.fingerprint).replayable(), 100)),
            Act("unnamed", lambda: dead_letters.name_causes(100)),
        ]
    )

    assert {act for act, _ in asked} == {"causes", "of a cause", "of a window", "to replay", "unnamed"}
    assert not [one.plan for _, one in asked if "jobs_execution" in scanned(one)]
    [counted] = [one.plan for act, one in asked if act == "causes" and "count" in one.statement.lower()]
    assert "Index Only Scan using shelf_dead_by_cause" in counted


def test_the_audit_trail_is_read_by_index(loaded) -> None:
    team, jobs = tenant(), list(Job.objects.values_list("pk", flat=True)[:50])
    now = timezone.now()
    AuditEvent.objects.bulk_create(
        AuditEvent(
            tenant=team,
            job_id=jobs[n % len(jobs)],
            action="create" if n % 500 else "discard",
            at=now - timedelta(minutes=n),
        )
        for n in range(EVENTS)
    )
    analyse()
    events = AuditEvent.objects.filter(tenant=team).order_by("-at", "-id")
    hour = {"at__gte": now - timedelta(hours=200), "at__lt": now - timedelta(hours=199)}

    plans = {
        "all": events[:50].explain(),
        "window": events.filter(**hour)[:50].explain(),
        "rare": events.filter(action="discard")[:50].explain(),
        "common": events.filter(action="create")[:50].explain(),
        "job": events.filter(job=jobs[3])[:50].explain(),
    }

    assert not [name for name, plan in plans.items() if "Seq Scan" in plan], plans
    assert "audit_of_rare_acts" in plans["rare"]
    assert "audit_of_a_tenant_by_time" in plans["window"] and "audit_of_a_tenant_by_time" in plans["all"]
