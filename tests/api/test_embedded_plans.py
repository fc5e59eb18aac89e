"""In the embedded mode too, every list is served by an index. (PostgreSQL's plans are looked at with the engine's.)"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection

from jobs.models import Execution, Job
from jobs.models.execution import few_jobs
from jobs.states import Cause, JobStatus, Priority, Status

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="plans of SQLite"),
]

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
JOBS = {
    "all": (lambda jobs, tenant: jobs, "jobs_of_a_tenant"),
    "paused": (lambda jobs, tenant: jobs.standing(JobStatus.PAUSED), "jobs_at_rest"),
    "active": (lambda jobs, tenant: jobs.standing(JobStatus.ACTIVE), ""),
    "tagged": (lambda jobs, tenant: jobs.tagged(tenant, ["a", "b"]), "jobs_by_term"),
    "called": (lambda jobs, tenant: jobs.called(tenant, ["week", "rep"]), "jobs_by_term"),
    "of a task": (lambda jobs, tenant: jobs.of_kind(tenant, task="a"), ""),
    "of a priority": (lambda jobs, tenant: jobs.of_kind(tenant, priority=Priority.HIGH), ""),
    "created": (lambda jobs, tenant: jobs.created_between(NOON, NOON), ""),
    "due": (lambda jobs, tenant: jobs.next_between(NOON, NOON), ""),
}
EXECUTIONS = {
    "all": (lambda found, tenant: found, "executions_of_a_tenant"),
    **{
        status.lower(): (lambda found, tenant, status=status: found.standing(status), index)
        for status, index in {
            Status.FAILED: "shelf_failed",
            Status.SKIPPED: "shelf_skipped",
            Status.CANCELLED: "shelf_cancelled",
            Status.RETRYING: "shelf_",
            Status.RUNNING: "executions_",
            Status.COMPLETED: "executions_of_a_tenant",
        }.items()
    },
    "run now": (lambda found, tenant: found.caused_by(Cause.RUN_NOW), "executions_asked_for"),
    "tagged": (lambda found, tenant: found.tagged(tenant, ["a"]), ""),
    "of a task": (lambda found, tenant: found.through(few_jobs(tenant, task="a").ids), ""),
    "due": (lambda found, tenant: found.due_between(NOON, NOON), ""),
}


@pytest.mark.parametrize("name", JOBS)
def test_no_list_of_jobs_reads_them_all(team, name) -> None:
    narrowed, index = JOBS[name]

    plan = narrowed(Job.objects.kept().for_tenant(team), team).order_by("-id")[:51].explain()

    assert "SCAN" not in plan and "CORRELATED" not in plan and index in plan, plan


@pytest.mark.parametrize("name", EXECUTIONS)
def test_no_list_of_executions_reads_them_all(team, name) -> None:
    job = Job.objects.create(tenant=team, task="a")  # or there is nothing to look for
    job.terms.create(tenant=team, term="#a")
    narrowed, index = EXECUTIONS[name]

    plan = narrowed(Execution.objects.for_tenant(team), team).order_by("-id")[:51].explain()

    assert "SCAN" not in plan and index in plan, plan
