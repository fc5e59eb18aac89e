"""What runs and what waits, of everybody at once.

One read of the executions that are looked after, by their lists, serves all tenants: those have the unfinished ones and
few others. It is bounded; with a longer backlog, what runs comes first (a lease ends sooner than a queue's patience),
and the numbers are told to be at least so many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection

from accounts.models import Tenant
from jobs.ledger.batch import as_uuid
from jobs.models import Execution, Job
from jobs.states import UNFINISHED, Status

MOST = 20_000  # executions a look
SHOWN = 12  # that run, with all there is to say of them

LISTED = "SELECT {columns}, wake_at FROM jobs_execution WHERE look_at IS NOT NULL ORDER BY look_at LIMIT {most}"
# Those that their cohorts stand for: of PostgreSQL alone.
IN_COHORTS = """
    SELECT {columns}, wake_at FROM jobs_execution
    WHERE id = ANY(ARRAY(SELECT unnest(executions) FROM jobs_cohort)) AND look_at IS NULL AND wake_at IS NOT NULL
"""
BOTH = f"SELECT * FROM (({LISTED}) UNION ALL ({IN_COHORTS})) AS unfinished ORDER BY wake_at LIMIT {{most}}"
COUNT = """
    SELECT tenant_id, task, status, CASE WHEN status = %s THEN worker ELSE '' END AS holder, count(*)
    FROM ({look}) AS looked_at GROUP BY tenant_id, task, status, holder
"""
RUNNING = """
    SELECT id FROM ({look}) AS looked_at WHERE status = %s {only} ORDER BY started_at DESC LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Line:
    """The executions of one task that are not over."""

    task: str
    waiting: int
    retrying: int
    running: int


@dataclass(frozen=True, slots=True)
class Unfinished:
    more: bool = False  # than were looked at
    lines: list[Line] = field(default_factory=list)  # the longest first
    held: Counter[str] = field(default_factory=Counter)  # by worker

    @property
    def running(self) -> int:
        return sum(line.running for line in self.lines)

    @property
    def waiting(self) -> int:
        return sum(line.waiting for line in self.lines)

    @property
    def retrying(self) -> int:
        return sum(line.retrying for line in self.lines)


class Look:
    """One look at what is unfinished."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(COUNT.format(look=_look("tenant_id, task, status, worker")), [Status.RUNNING.value])
            rows = cursor.fetchall()
        self._rows = [(as_uuid(tenant), task, status, worker, count) for tenant, task, status, worker, count in rows]
        self._more = sum(count for *_, count in self._rows) >= MOST

    def of(self, scope: Tenant | None) -> Unfinished:
        counted: dict[str, Counter[str]] = {}
        held: Counter[str] = Counter()
        for task, status, worker, count in self._within(scope.pk if scope else None):
            counted.setdefault(task, Counter())[status] += count
            if worker:
                held[worker] += count
        lines = [_line(task, counts) for task, counts in counted.items()]
        lines.sort(key=lambda line: (-line.waiting - line.retrying, -line.running, line.task))
        return Unfinished(self._more, lines, held)

    def _within(self, tenant: UUID | None) -> Iterator[tuple[str, str, str, int]]:
        for owner, task, status, worker, count in self._rows:
            if status in UNFINISHED and (tenant is None or owner == tenant):
                yield task, status, worker, count


def _look(columns: str) -> str:
    return (LISTED if connection.vendor == "sqlite" else BOTH).format(columns=columns, most=MOST)


def _line(task: str, counts: Counter[str]) -> Line:
    waiting = counts[Status.SCHEDULED] + counts[Status.QUEUED]
    return Line(task, waiting, counts[Status.RETRYING], counts[Status.RUNNING])


def running_now(scope: Tenant | None) -> list[Execution]:
    """Some of those that run, the latest first, with their jobs."""
    only, whose = ("", []) if scope is None else ("AND tenant_id = %s", [_key(scope)])
    with connection.cursor() as cursor:
        look = _look("id, tenant_id, status, started_at")
        cursor.execute(RUNNING.format(look=look, only=only), [Status.RUNNING.value, *whose, SHOWN])
        ids = [as_uuid(one) for (one,) in cursor.fetchall()]
    # Not joined: a job is looked up by its own key, for a dozen rows.
    found = Execution.objects.defer("payload", "result").in_bulk(ids)
    rows = [found[one] for one in ids if one in found]
    name_jobs(rows)
    return rows


def name_jobs(rows: list[Execution]) -> None:
    """Give each execution its job, as far as it is called by a name, in one read."""
    jobs = Job.objects.only("id", "name", "task", "tenant_id").in_bulk({row.job_id for row in rows})
    for row in rows:
        row.job = jobs[row.job_id]


def _key(tenant: Tenant) -> object:
    return Tenant._meta.pk.get_db_prep_value(tenant.pk, connection)
