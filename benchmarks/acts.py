"""What the daemons do all day, one act at a time and by their own code, on whatever is stored.

Each act can be repeated as often as wanted: what one leaves behind is what the next one needs. What comes `before`
an act is no part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmarks.fleet import TASK
from benchmarks.load import learned, recurring
from execution.broker.database import DatabaseBroker
from execution.processes import make_recoverer, make_runner
from jobs import ledger
from jobs.alerts.processes import make_watcher
from jobs.ledger import Claim, Outcome
from jobs.models import Job
from jobs.states import Status
from scheduling.index.database import DatabaseDueIndex
from scheduling.processes import make_poller

LOST = 50  # executions whose worker is gone, for the recoverer to find
FAILED = 20  # of those that are settled
AT_ONCE = timedelta(milliseconds=1)
LEASE = timedelta(minutes=10)  # longer than a measurement takes: nobody is to be lost unless meant to be


def nothing() -> None:
    pass


class Act(NamedTuple):
    name: str
    do: Callable[[], object]
    before: Callable[[], object] = nothing


class Day:
    """The processes of an installation, and a batch of recurring jobs that come due whenever they are told to."""

    def __init__(self) -> None:
        learned()
        self.poller = make_poller()
        self.recoverer = make_recoverer()
        self.watcher = make_watcher()
        self.watcher.tick()  # what fails from now on is news
        self.runner = make_runner()
        self.index = DatabaseDueIndex()
        self.inbox = DatabaseBroker().subscribe([TASK], prefetch=1, bundle=lambda task: settings.POLL_BATCH)
        self.jobs = [job.id for job in recurring(settings.POLL_BATCH, 3600, every=3600, spread=0)]
        self.claims: list[Claim] = []

    def acts(self) -> list[Act]:
        return [
            Act("the database's due index: a lease", self.lease, self.come_due),
            Act("a poller's round, a batch due", self.poll, self.come_due),
            Act("a poller's round, nothing due", self.poller.tick),
            Act("marking what waits as queued", self.poller.stop),
            Act("the recoverer's sweep, workers lost", self.recoverer.tick, self.lose_workers),
            Act("the recoverer's sweep, nothing to do", self.recoverer.tick),
            Act("taking and claiming a batch", self.claim),
            Act("heartbeats of a batch", self.beat),
            Act("settling a batch", self.settle),
            Act("a watcher's look, a batch overdue", self.watcher.tick, self.fall_behind),
            Act("a watcher's look, nothing new", self.watcher.tick),
        ]

    def come_due(self) -> None:
        now = timezone.now()
        Job.objects.filter(id__in=self.jobs).update(next_run_at=now, leased_until=None)
        self.poller.index.put(dict.fromkeys(self.jobs, now))

    def fall_behind(self) -> None:
        """Be due for so long that somebody should be told."""
        missed = timezone.now() - 2 * settings.MISSED_AFTER
        Job.objects.filter(id__in=self.jobs).update(next_run_at=missed, leased_until=None)

    def lease(self) -> None:
        now = timezone.now()
        leased = self.index.lease(now=now, until=now + LEASE, limit=settings.POLL_BATCH)
        _expect(len(leased), len(self.jobs), "jobs were leased")

    def poll(self) -> None:
        _expect(self.poller.tick(), len(self.jobs), "due jobs were dispatched")

    def lose_workers(self) -> None:
        """Claim some with a lease that is over already."""
        now = timezone.now()
        with self.inbox.take(LOST, wait=AT_ONCE) as offered:
            ledger.claim(offered[:LOST], worker="gone", now=now, until=now)

    def claim(self) -> None:
        with self.inbox.take(settings.POLL_BATCH, wait=AT_ONCE) as offered:
            now = timezone.now()
            self.claims = ledger.claim(offered, worker="bench", now=now, until=now + LEASE)
        if not self.claims:
            raise RuntimeError("Nothing was claimed.")

    def beat(self) -> None:
        until = timezone.now() + LEASE
        kept = ledger.heartbeat([(*claim.key, until) for claim in self.claims])
        _expect(len(kept), len(self.claims), "leases were kept")

    def settle(self) -> None:
        """Most of them completed, and some failed for good."""
        failed, rest = self.claims[:FAILED], self.claims[FAILED:]
        now = timezone.now()
        outcomes = [Outcome(*claim.key, Status.COMPLETED, now) for claim in rest]
        outcomes += [Outcome(*claim.key, Status.FAILED, now, error="it failed") for claim in failed]
        with transaction.atomic():
            led_to = ledger.settle(outcomes)
        _expect(len(led_to) - led_to.count(None), len(self.claims), "outcomes were written")


def _expect(done: int, wanted: int, what: str) -> None:
    if done != wanted:
        raise RuntimeError(f"{done} of {wanted} {what}.")
