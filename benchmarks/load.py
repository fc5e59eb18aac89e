"""Stores jobs and history for a measurement: `python -m benchmarks.load WHAT NUMBERS…`.

jobs COUNT SECONDS                      due once, all at one instant, so many seconds from now, which is printed
lone COUNT SECONDS                      due once, one at a time, at irregular instants, which are printed
recurring COUNT SECONDS EVERY SPREAD    due every so often, first within a spread, of which the start is printed
history COUNT [JOBS]                    executions that are long over: tables and indexes of a size worth measuring
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import django

from benchmarks.fleet import TASK

if TYPE_CHECKING:
    from accounts.models import Tenant
    from jobs.models import Job

BATCH = 2000
CHUNK = 1_000_000  # executions of the history in one statement
RARE_TASK, RARE_TAG = "rare_of_bench", "rare"  # that few jobs have
FEW = 10  # jobs of a history: none of so few is a rare one
FAILING = 997  # one in so many executions of the history is a dead letter; a prime, so that any job has some
TAKES = 0.000_01  # seconds an execution of the task: about what executors find out themselves
GAPS = (0.15, 0.45)  # seconds from one lone job to the next: enough for the one to be over, in step with nothing
HISTORY = """
    INSERT INTO jobs_execution (id, job_id, tenant_id, task, priority, cause, status, attempt, forgiven, due_at,
        not_before, recorded_at, queued_at, started_at, finished_at, worker, error, reason)
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '8' || substr(md5(n::text), 2, 3)
            || '8' || substr(md5(n::text), 6, 15))::uuid,
        (%(jobs)s::uuid[])[1 + n %% %(of_jobs)s], %(tenant)s,
        CASE WHEN n %% %(of_jobs)s = %(rare)s THEN %(rare_task)s ELSE %(task)s END,
        CASE WHEN n %% %(of_jobs)s = %(rare)s THEN 9 ELSE 5 END,
        CASE WHEN n %% 9973 = 0 THEN 'run_now' ELSE 'schedule' END,
        CASE WHEN n %% %(failing)s = 0 THEN 'FAILED' WHEN n %% 9967 = 0 THEN 'SKIPPED'
            WHEN n %% 9949 = 0 THEN 'CANCELLED' ELSE 'COMPLETED' END, 1, 0,
        at, at, at, at, at, at, 'then-1', '', ''
    FROM generate_series(%(first)s, %(last)s) AS n,
        LATERAL (SELECT %(until)s::timestamptz - (%(count)s - n) * interval '1 second' AS at) AS past
"""
INDEXES = """
    SELECT indexname, indexdef FROM pg_indexes
    WHERE tablename = 'jobs_execution' AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""
# Ids in the order of creation, as those of real jobs are; due a second apart, from the day after tomorrow on.
COPIES = {
    "id": "(lpad(to_hex(n), 12, '0') || '7' || substr(md5(n::text), 2, 3) || '8' || substr(md5(n::text), 6, 15))::uuid",
    "next_run_at": "now() + interval '2 days' + n * interval '1 second'",
}
# The same, each with a name, some with tags, and a few that are paused, urgent, somebody's, or of another task.
VARIOUS = COPIES | {
    "next_run_at": f"CASE WHEN n % 997 > 0 THEN {COPIES['next_run_at']} END",
    "status": "CASE WHEN n % 997 > 0 THEN status ELSE 'PAUSED' END",
    "priority": "CASE WHEN n % 991 > 0 THEN priority ELSE 9 END",
    "owner_id": "CASE WHEN n % 983 > 0 THEN owner_id ELSE (SELECT min(id) FROM accounts_user) END",
    "task": f"CASE WHEN n % 977 > 0 THEN task ELSE '{RARE_TASK}' END",
    "name": "'Report ' || n || CASE WHEN n % 971 > 0 THEN ' daily' ELSE ' yearly' END",
    "tags": f"""CASE WHEN n % 967 > 0 THEN '["common"]'::jsonb ELSE '["{RARE_TAG}"]'::jsonb END""",
    "created_at": "to_timestamp(n / 1000.0)",
}
TERMS = """
    INSERT INTO jobs_jobterm (job_id, tenant_id, term)
    SELECT id, tenant_id, term FROM jobs_job, LATERAL unnest(
        string_to_array(lower(name), ' ') || ('#' || (tags ->> 0))
    ) AS term WHERE name LIKE 'Report %'
"""


def tenant() -> Tenant:
    from accounts.models import User
    from accounts.services import register

    known = User.objects.filter(username="bench").first()
    user = known or register(username="bench", email="bench@example.com", password="correct horse battery")
    return user.tenants.get()


def once(dues: Iterable[datetime]) -> list[Job]:
    return _store(({"type": "once", "run_at": due.isoformat()}, due) for due in dues)


def recurring(count: int, seconds: float, *, every: int, spread: float) -> list[Job]:
    from scheduling.recurrence import Every

    first = _from_now(seconds)
    dues = [first + timedelta(seconds=spread * place / count) for place in range(count)]
    return _store((Every(every, due).to_dict(), due) for due in dues)


def irregular(count: int, seconds: float) -> list[datetime]:
    dues = [_from_now(seconds)]
    while len(dues) < count:
        dues.append(dues[-1] + timedelta(seconds=random.uniform(*GAPS)))
    return dues


def distant(count: int) -> None:
    """Recurring jobs that nobody will see come due. The index has to hear of them by a rebuild."""
    _copy(count, COPIES)


def various(count: int) -> None:
    """The same, with names, tags and few of each that somebody may look for."""
    from django.db import connection

    _copy(count, VARIOUS)
    with connection.cursor() as cursor:
        cursor.execute(TERMS)
        cursor.execute("VACUUM ANALYZE jobs_jobterm")
        cursor.execute("VACUUM ANALYZE jobs_job")


def _copy(count: int, values: dict[str, str]) -> None:
    from django.db import connection

    from jobs.models import Job

    [original] = recurring(1, 2 * 24 * 3600, every=3600, spread=0)
    columns = [field.column for field in Job._meta.concrete_fields]
    shown = ", ".join(values.get(column, column) for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO jobs_job ({', '.join(columns)}) SELECT {shown} ".replace("%", "%%")
            + "FROM jobs_job, generate_series(1, %s) AS n WHERE jobs_job.id = %s",
            [count - 1, original.id],
        )


def history(count: int, of_jobs: int = 1) -> None:
    """Give tables and indexes a size worth measuring. Whoever has run this much knows how long the task takes."""
    from django.db import connection
    from django.utils import timezone

    from jobs.models import Job

    past = {"task": TASK, "payload": {}, "schedule": {"type": "once"}, "status": "FINISHED"}
    jobs = Job.objects.bulk_create([Job(tenant=tenant(), **past) for _ in range(of_jobs)], batch_size=BATCH)
    if of_jobs > FEW:
        make_rare(jobs[0])
    values = {"task": TASK, "tenant": tenant().pk, "jobs": [job.id for job in jobs], "of_jobs": of_jobs}
    values |= {"count": count, "failing": FAILING, "until": timezone.now()}
    values |= {"rare_task": RARE_TASK, "rare": 0 if of_jobs > FEW else -1}
    with connection.cursor() as cursor, _without_indexes(cursor, count > CHUNK):
        for first in range(1, count + 1, CHUNK):
            last = min(first + CHUNK - 1, count)
            cursor.execute(HISTORY, values | {"first": first, "last": last})
            if count > CHUNK:
                print(f"history: {last:,} of {count:,} executions stored", file=sys.stderr, flush=True)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE jobs_execution")
        cursor.execute("VACUUM ANALYZE jobs_job")
    learned()


def make_rare(job: Job) -> None:
    """Have it be found by what few jobs are."""
    from jobs.models import Job, JobTerm
    from jobs.terms import term_of_tag

    Job.objects.filter(pk=job.pk).update(task=RARE_TASK, priority=9, tags=[RARE_TAG])
    JobTerm.objects.create(job=job, tenant=job.tenant, term=term_of_tag(RARE_TAG))


@contextmanager
def _without_indexes(cursor: Any, worth_it: bool) -> Iterator[None]:
    """Take the indexes away and make them anew at the end: for millions of rows that is the faster way."""
    dropped = []
    if worth_it:
        cursor.execute(INDEXES)
        dropped = cursor.fetchall()
    for name, _ in dropped:
        cursor.execute(f'DROP INDEX "{name}"')
    yield
    for name, definition in dropped:
        cursor.execute(definition)
        print(f"history: index {name} made", file=sys.stderr, flush=True)


def learned() -> None:
    from execution.models import TaskPace

    TaskPace.objects.write({TASK: TAKES})


def _from_now(seconds: float) -> datetime:
    from django.utils import timezone

    return timezone.now() + timedelta(seconds=seconds)


def _store(wanted: Iterable[tuple[dict[str, Any], datetime]]) -> list[Job]:
    from jobs.models import Job
    from scheduling.index import get_due_index

    owner = tenant()
    # Overlaps are allowed, as the systems compared with do: a run that was skipped would not be measured.
    made = [
        Job(tenant=owner, task=TASK, payload={}, schedule=when, next_run_at=due, overlap="allow")
        for when, due in wanted
    ]
    Job.objects.bulk_create(made, batch_size=BATCH)
    get_due_index().put({job.id: job.next_run_at for job in made})
    return made


def main(what: str, count: int, seconds: float = 0, every: float = 0, spread: float = 0) -> None:
    match what:
        case "jobs":
            print(once([_from_now(seconds)] * count)[0].next_run_at.timestamp())
        case "lone":
            print(json.dumps([job.next_run_at.timestamp() for job in once(irregular(count, seconds))]))
        case "recurring":
            print(recurring(count, seconds, every=int(every), spread=spread)[0].next_run_at.timestamp())
        case "history":
            history(count, of_jobs=int(seconds) or 1)


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:]))
