"""Load that looks like work: so many jobs a second, of several kinds, under a tenant of their own.

It only makes jobs and reads what became of them. Who runs them is the installation that is tried, as it is.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from accounts.models import Tenant, User
from accounts.teams import create_tenant
from jobs import services
from jobs.clock import database_now
from jobs.models import AuditEvent, Execution, Horizon, Job, JobTerm
from jobs.models.execution import ExecutionQuerySet
from jobs.models.horizon import OF_ALL
from jobs.services import NewJob
from jobs.states import FINAL
from jobs.stats.percentiles import Percentiles, percentiles
from scheduling.recurrence.instants import write_instant

NAME = "simulation"  # of the tenant and its owner, who cannot sign in
TURN = timedelta(seconds=0.25)  # jobs are created for so much of the time to come, at once
SAY_EVERY = 4  # turns
STEP = timedelta(seconds=1)  # and so often where there are only recurring jobs, which are created once
LEAD = timedelta(seconds=1)  # before they are due: what is measured is the start, not how fast they are accepted
MOST_MEASURED = 200_000  # executions whose lateness is read
CHUNK = 2000  # rows deleted at once


class Kind(NamedTuple):
    task: str
    payload: dict[str, object]


KINDS = {
    "fast": Kind("demo_ping", {}),
    "slow": Kind("demo_report", {"seconds": 1}),
    "flaky": Kind("demo_sync", {"failures": 1}),
    "failing": Kind("demo_charge", {}),
    "recurring": Kind("demo_ping", {}),
}
MIX = "fast=90,slow=3,flaky=3,failing=1,recurring=3"


class InvalidMix(ValueError):
    """A mix that cannot be read."""


def read_mix(text: str) -> dict[str, float]:
    """The share of each kind, of `fast=90,slow=10`."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        kind, _, weight = part.strip().partition("=")
        if kind not in KINDS or not weight.isdigit():
            raise InvalidMix(f"{part.strip()!r}: write it as {MIX}. Kinds: {', '.join(KINDS)}.")
        shares[kind] = float(weight)
    total = sum(shares.values())
    if not total:
        raise InvalidMix("One of the kinds needs a share above 0.")
    return {kind: weight / total for kind, weight in shares.items()}


@dataclass(frozen=True, slots=True)
class Progress:
    seconds: float
    created: int
    waiting: int  # executions that are recorded and not over


@dataclass(frozen=True, slots=True)
class Report:
    created: int
    by_status: dict[str, int]
    seconds: float  # from the first due time to the last end
    lateness: Percentiles | None  # seconds from the due time to the first attempt
    latest: float
    pruned: bool  # some of it is history that was let go already: what is told is of the rest

    @property
    def throughput(self) -> float:
        """Executions that were over, a second."""
        over = sum(count for status, count in self.by_status.items() if status in FINAL)
        return over / self.seconds if self.seconds else 0.0


class Simulation:
    """Creates jobs for `seconds`, at `rate` executions a second. Recurring ones run each second until it ends."""

    def __init__(self, rate: int, seconds: int, mix: dict[str, float], *, seed: int = 0) -> None:
        self.rate = rate
        self.seconds = seconds
        self.tenant = simulation_tenant()
        recurring = mix.get("recurring", 0.0)
        self._recurring = round(rate * recurring)
        self._single = rate - self._recurring
        self._kinds = {kind: share for kind, share in mix.items() if kind != "recurring" and share}
        self._random = random.Random(seed)
        self._created = 0
        self.started = database_now()

    def run(self, wait: Callable[[float], object]) -> Iterator[Progress]:
        """Create what is due next, turn by turn, and say how far it is; `wait` is called with seconds in between."""
        self._start_recurring()
        turns = max(1, round(self.seconds / TURN.total_seconds())) if self._kinds else 1
        for turn in range(turns):
            due = self.started + LEAD + turn * TURN
            self._create(turn, due)
            ahead = (due - LEAD + TURN - database_now()).total_seconds()
            if ahead > 0:
                wait(ahead)
            if turn % SAY_EVERY == 0:
                yield self.progress()
        left = (self.started + timedelta(seconds=self.seconds) - database_now()).total_seconds()
        steps = ceil(left / STEP.total_seconds())
        for _ in range(steps):
            wait(left / steps)
            yield self.progress()
        self.stop()
        yield self.progress()

    def _start_recurring(self) -> None:
        every = {"type": "interval", "seconds": 1}
        kind = KINDS["recurring"]
        self._store([NewJob(kind.task, kind.payload, every, overlap="allow") for _ in range(self._recurring)])

    def _create(self, turn: int, due: datetime) -> None:
        # Shares of a turn that is no whole number add up over the turns.
        share = self._single * TURN.total_seconds()
        count = int(share * (turn + 1)) - int(share * turn)
        if not self._kinds:
            return
        kinds = self._random.choices(list(self._kinds), list(self._kinds.values()), k=count)
        self._store(
            [
                NewJob(KINDS[kind].task, KINDS[kind].payload, _once(due + place * TURN / max(count, 1)))
                for place, kind in enumerate(kinds)
            ]
        )

    def _store(self, jobs: list[NewJob]) -> None:
        for outcome in services.create_jobs(jobs, tenant=self.tenant, actor=None):
            if not isinstance(outcome, Job):
                raise outcome
        self._created += len(jobs)

    def stop(self) -> None:
        """End the recurring ones. What is recorded still runs."""
        for job in Job.objects.for_tenant(self.tenant).scheduled().filter(schedule__type="interval"):
            services.pause_job(job, actor=None)

    def progress(self) -> Progress:
        seconds = (database_now() - self.started).total_seconds()
        return Progress(seconds, self._created, self._waiting())

    def unfinished(self) -> int:
        """Jobs and executions that are still to come or to end."""
        soon = Job.objects.for_tenant(self.tenant).scheduled().count()
        return soon + self._waiting()

    def _waiting(self) -> int:
        # Found among what is not over: to count what is would take longer with every second.
        return Execution.objects.for_tenant(self.tenant).unfinished().looked_after().count()

    def _own(self) -> ExecutionQuerySet:
        return Execution.objects.for_tenant(self.tenant).due_between(self.started, None)

    def report(self) -> Report:
        statuses = Counter(self._own().order_by().values_list("status", flat=True).iterator())
        rows = self._own().filter(attempt=1, started_at__isnull=False).order_by("pk")
        times = rows.values_list("due_at", "started_at", "finished_at")[:MOST_MEASURED]
        late: list[float] = []
        last = self.started
        for due, start, end in times.iterator():
            late.append((start - due).total_seconds())
            last = max(last, end or start)
        first = self._own().order_by("pk").values_list("due_at", flat=True).first() or self.started
        took = max((last - first).total_seconds(), 0.0)
        pruned = Horizon.objects.filter(pk=OF_ALL, until__gt=self.started).exists()
        return Report(self._created, dict(statuses), took, percentiles(late), max(late, default=0.0), pruned)


def _once(due: datetime) -> dict[str, str]:
    return {"type": "once", "run_at": write_instant(due)}


def simulation_tenant() -> Tenant:
    """A tenant with an owner who cannot sign in."""
    owner, made = User.objects.get_or_create(username=NAME, defaults={"email": "simulation@localhost"})
    if made:
        owner.set_unusable_password()
        owner.save()
    return owner.tenants.first() or create_tenant(name=NAME, owner=owner).tenant


def clean_up() -> int:
    """Remove all that simulations have made, the tenant included; return how many executions that were."""
    tenant = Tenant.objects.filter(name=NAME, members__username=NAME).first()
    if tenant is None:
        return 0
    for job in Job.objects.for_tenant(tenant).kept().scheduled():
        services.cancel_job(job, actor=None)
    gone = 0
    while ids := list(Execution.objects.for_tenant(tenant).order_by("pk").values_list("pk", flat=True)[:CHUNK]):
        Execution.objects.filter(pk__in=ids).delete()
        gone += len(ids)
    while ids := list(Job.objects.for_tenant(tenant).order_by("pk").values_list("pk", flat=True)[:CHUNK]):
        AuditEvent.objects.filter(job__in=ids).delete()
        JobTerm.objects.forget(ids)
        Horizon.objects.forget(ids)
        Job.objects.filter(pk__in=ids).delete()
    tenant.delete()
    User.objects.filter(username=NAME).delete()
    return gone
