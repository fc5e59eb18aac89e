"""Stores jobs and history for a measurement: `python -m benchmarks.load jobs COUNT SECONDS | history COUNT`.

`jobs` are all due at one instant, so many seconds from now, which is printed. `history` are executions that
are long over, so that tables and their indexes have a size worth measuring.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import django

from benchmarks.fleet import TASK

if TYPE_CHECKING:
    from accounts.models import Tenant

BATCH = 2000
HISTORY = """
    INSERT INTO jobs_execution (id, job_id, tenant_id, task, priority, cause, status, attempt, forgiven, due_at,
        not_before, recorded_at, queued_at, started_at, finished_at, worker, error, reason)
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '8' || substr(md5(n::text), 2, 3)
            || '8' || substr(md5(n::text), 6, 15))::uuid,
        job.id, job.tenant_id, %(task)s, 5, 'schedule', 'COMPLETED', 1, 0, at, at, at, at, at, at, 'then-1', '', ''
    FROM jobs_job AS job, generate_series(1, %(count)s) AS n,
        LATERAL (SELECT now() - n * interval '1 second' AS at) AS past
    WHERE job.id = %(job)s
"""


def tenant() -> Tenant:
    from accounts.models import User
    from accounts.services import register

    known = User.objects.filter(username="bench").first()
    user = known or register(username="bench", email="bench@example.com", password="correct horse battery")
    return user.tenants.get()


def jobs(count: int, seconds: float) -> None:
    from django.utils import timezone

    from jobs.models import Job
    from scheduling.index import get_due_index

    owner = tenant()
    due = timezone.now() + timedelta(seconds=seconds)
    schedule = {"type": "once", "run_at": due.isoformat()}
    made = [Job(tenant=owner, task=TASK, payload={}, schedule=schedule, next_run_at=due) for _ in range(count)]
    Job.objects.bulk_create(made, batch_size=BATCH)
    get_due_index().put({job.id: due for job in made})
    print(due.timestamp())


def history(count: int) -> None:
    from django.db import connection

    from jobs.models import Job

    job = Job.objects.create(tenant=tenant(), task=TASK, payload={}, schedule={"type": "once"}, status="FINISHED")
    with connection.cursor() as cursor:
        cursor.execute(HISTORY, {"task": TASK, "count": count, "job": job.id})
        cursor.execute("VACUUM ANALYZE jobs_execution")


if __name__ == "__main__":
    django.setup()
    what, *numbers = sys.argv[1:]
    {"jobs": lambda: jobs(int(numbers[0]), float(numbers[1])), "history": lambda: history(int(numbers[0]))}[what]()
