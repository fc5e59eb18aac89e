"""Runs what the broker offers: claim a batch, have it run, hand outcomes to the bookkeeper and words to the scribe.

The message is acknowledged when the claim is committed. From then on the row's lease, not the
broker, says whose work it is, so long work never meets the broker's patience.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from threading import Condition
from uuid import UUID

import structlog

from accounts.teams import owners_of
from execution.bookkeeper import Bookkeeper
from execution.broker import Inbox
from execution.broker.base import Bundle
from execution.heart import Heart
from execution.metrics import count_claimed, count_postponed
from execution.outbox import Outbox
from execution.pace import batched
from execution.retry import Cancelled, LeaseLost
from execution.runner import Runner
from execution.running import Held, Running, lengths
from execution.scribe import Scribe
from execution.spans import trace_claimed, trace_of
from execution.spare import SpareThreads
from execution.workshop import Finished, Workshop
from jobs import ledger
from jobs.clock import Clock
from jobs.ledger import Claim
from jobs.models import Execution
from scheduler_project.memory import Sweeper

logger = structlog.get_logger(__name__)

MOST_UNWRITTEN = 2000  # outcomes: one of the bookkeeper's groups at each step of their way
MAX_PAYLOADS = 32 * 1024 * 1024  # characters of the claims that are held: thousands of usual payloads
FOREVER = timedelta(days=365)
MOST_TOLD = 5  # ids of what was passed over, in one line
WAIT = timedelta(milliseconds=500)  # for work, before looking whether to stop
BRIEFLY = timedelta(milliseconds=20)  # for work that spare threads may start
RECALLED_PER_THREAD = 4  # postponed executions, for each thread that the queue left free
MAX_LOOKS = 5  # at what waits in the database, each without the tenants of the looks before
MAX_LOOKED_AT = 500  # executions: what a full executor takes at once to find those that spare threads may start


class Executor:
    """A daemon: `start`, `tick` until told otherwise, `stop`."""

    def __init__(
        self,
        inbox: Inbox,
        outbox: Outbox,
        runner: Runner,
        workshop: Workshop,
        *,
        tasks: Collection[str],
        worker: str,
        clock: Clock,
        threads: int,
        spare: int,
        bookkeeping_delay: timedelta,
        words_pause: timedelta,
    ) -> None:
        self.inbox = inbox
        self._outbox = outbox
        self.runner = runner
        self.workshop = workshop
        self.tasks = tasks
        self.worker = worker
        self.clock = clock
        self.threads = threads
        self._spare = SpareThreads(threads, spare)
        self._lease = runner.limits.lease
        self._sweeper = Sweeper(MAX_PAYLOADS)
        self._held = Held()  # claimed, and its outcome not yet written
        self._running = Running(outbox.pace.bundle)  # of those, the ones whose handler is not yet done
        self._changed = Condition()
        self._bookkeeper = Bookkeeper(outbox, delay=bookkeeping_delay, on_settled=self._let_go)
        self._scribe = Scribe(self._bookkeeper, pause=words_pause)
        self._heart = Heart(self._leases, clock=clock, lost=self._lose, cancelled=self._cancel)

    def start(self) -> None:
        self.workshop.start(self._finished, self._scribe.hear)
        self._bookkeeper.start()
        self._scribe.start()
        self._heart.start()

    def tick(self, wait: timedelta = WAIT) -> int:
        """Claim as much as there are free threads for and start it; return how much that was."""
        free = self._await_room(wait)
        if not free and self._spare.are_needed():
            return self._use_spare_threads()
        if not free:
            self.inbox.rest()  # whatever does not fit is for idle neighbours
            return 0
        with self.inbox.take(free, wait=wait) as offered:
            claims = self._claim(offered)
        if len(claims) < len(offered):
            _tell_passed_over(offered, claims)
        self._begin(claims)
        if len(offered) < free and (postponed := self._spare.recall(RECALLED_PER_THREAD * free)):
            ledger.bring_back(postponed, now=self.clock.now())  # for the threads that the queue left free
        return len(claims)

    def _use_spare_threads(self) -> int:
        """Start executions of tenants that hold less than their share, postpone the others; return how many started."""
        started = 0 if self.inbox.chooses else self._start_passed_over()
        until = time.monotonic() + WAIT.total_seconds()
        while self._room <= 0 < (room := self._spare_room) and time.monotonic() < until:
            with self._changed:
                held = self._running.by_tenant()
            with self.inbox.take(MAX_LOOKED_AT, wait=BRIEFLY, but_not=self._spare.full(held)) as offered:
                waiting = ledger.tenants_of(offered)
                owners = owners_of({tenant for _, tenant in waiting} | held.keys()) if waiting else {}
                chosen, postponed = self._spare.divide(waiting, held, room=room, now=self.clock.now(), owner_of=owners)
                ledger.postpone(postponed)
                claims = self._claim(chosen)
            if not offered:
                return started
            if postponed:
                count_postponed(len(postponed))
                logger.info("executor.postponed", executions=len(postponed), reason="all threads are busy")
            self._begin(claims)
            started += len(claims)
        if self._spare_room <= 0:
            self.inbox.rest()
        return started

    def _start_passed_over(self) -> int:
        """Start executions of other tenants that have waited for seconds behind a backlog; return how many.

        A queue that cannot choose offers one execution after the other, and to postpone a long backlog takes long. What
        waits for longer than a moment can be read from the database. Its message comes later, and finds it claimed.
        """
        with self._changed:
            held = self._running.by_tenant()
        if (room := self._spare_room) <= 0:
            return 0
        passed_over = set(self._spare.full(held))
        for _ in range(MAX_LOOKS):
            ready = Execution.objects.ready(self.clock.now(), self.tasks, passed_over)
            waiting = list(ready.values_list("pk", "tenant_id")[:MAX_LOOKED_AT])
            if not waiting:
                break
            tenants = {tenant for _, tenant in waiting}
            chosen, _ = self._spare.choose(waiting, held, room=room, owner_of=owners_of(tenants | held.keys()))
            if chosen:
                claims = self._claim(chosen)
                self._begin(claims)
                return len(claims)
            passed_over |= tenants  # further tenants of an owner who holds threads: others may wait behind them
        return 0

    def _claim(self, offered: Sequence[UUID]) -> list[Claim]:
        now = self.clock.now()
        return ledger.claim(offered, worker=self.worker, now=now, until=now + self._lease)

    def _begin(self, claims: list[Claim]) -> None:
        with self._changed:
            self._held.add(claims)
            self._running.add(claims)
        self._submit(claims)
        count_claimed(claims)
        trace_claimed(claims)
        # The claim gives everybody the usual lease; whoever has another gets it before it matters.
        self._heart.beat(self._with_leases(claims, but=self._lease))

    @property
    def holding(self) -> int:
        """How many executions are claimed, and their outcome not yet written."""
        return len(self._held)

    @property
    def concluded(self) -> int:
        """A number that changes whenever an attempt that a handler has ended is settled."""
        return self._bookkeeper.concluded

    def overrun(self, grace: timedelta) -> int:
        """How many executions are held for longer than their time limit and `grace`: nobody ends them."""
        with self._changed:
            held = list(self._held)
        now = self.clock.now()
        return sum(self._is_past_limit(claim, now - grace) for claim in held)

    def _is_past_limit(self, claim: Claim, now: datetime) -> bool:
        limit = self.runner.limits_of(claim).time_limit
        return limit is not None and claim.started_at is not None and now - claim.started_at > limit

    def held_tasks(self) -> list[str]:
        """The task of each of them."""
        with self._changed:
            return [claim.task for claim in self._held]

    def run_waiting(self) -> int:
        """Run until nothing waits any more, retries that are due meanwhile included; return how many attempts ran."""
        ran = 0
        while started := self.tick():
            ran += started
            self.drain(FOREVER)
        return ran

    def drain(self, timeout: timedelta) -> int:
        """Wait until nothing is held any more, but not longer than `timeout`; return how much still is."""
        with self._changed:
            self._changed.wait_for(lambda: not self._held, timeout.total_seconds())
            return len(self._held)

    def stop(self, grace: timedelta) -> None:
        """Take nothing more, finish what fits in `grace`, and give the rest back at once, uncounted."""
        deadline = time.monotonic() + grace.total_seconds()
        self.inbox.close()  # with a broker that does not answer, this takes part of the grace
        self.drain(timedelta(seconds=max(0.0, deadline - time.monotonic())))
        self.workshop.close()
        self._give_back()
        self._scribe.close(timedelta(seconds=max(1.0, deadline - time.monotonic())))
        self._bookkeeper.close(timedelta(seconds=max(2.0, deadline - time.monotonic())))
        self._heart.stop()

    def _submit(self, claims: list[Claim]) -> None:
        """What is held but never started would keep its lease for as long as we live."""
        try:
            self.workshop.submit(list(bundles(claims, self._outbox.pace.bundle)))
        except BaseException:
            self._finished([(claim, self.runner.given_back(claim)) for claim in claims])
            raise

    def _give_back(self) -> None:
        with self._changed:
            left = list(self._running)
        if left:
            logger.warning("executor.gave_back", executions=len(left), reason="they did not end within the grace time")
        self._finished([(claim, self.runner.given_back(claim)) for claim in left])

    def _await_room(self, wait: timedelta) -> int:
        with self._changed:
            self._changed.wait_for(lambda: self._room > 0, wait.total_seconds())
            return max(0, self._room)

    @property
    def _room(self) -> int:
        """Free threads; none while the payloads that are held take much memory.

        They take it here, and several times as much in the process of the handlers. One claim may exceed the bound.
        """
        room = self._room_of(self.threads)
        return min(room, 0) if self._held.characters >= MAX_PAYLOADS else room

    @property
    def _spare_room(self) -> int:
        """Free threads, the spare ones included, whatever the payloads take: others must not wait for one tenant's."""
        return self._room_of(self.threads + self._spare.spare)

    def _room_of(self, threads: int) -> int:
        """Free threads; none while outcomes pile up, because what is run but not written is run again after a crash."""
        return min(threads - self._running.threads, MOST_UNWRITTEN - len(self._held))

    def _with_leases(self, claims: Collection[Claim], but: timedelta | None = None) -> list[tuple[Claim, timedelta]]:
        """Each with how long it is leased for; not those with that one lease. Limits that many share are read once."""
        alike = {(claim.task, id(claim.limits)): claim for claim in claims}
        leases = {kind: self.runner.limits_of(claim).lease for kind, claim in alike.items()}
        others = {kind: lease for kind, lease in leases.items() if lease != but}
        if not others:
            return []
        of_each = ((claim, others.get((claim.task, id(claim.limits)))) for claim in claims)
        return [(claim, lease) for claim, lease in of_each if lease is not None]

    def _finished(self, finished: Sequence[Finished]) -> None:
        """Called by the workshop, from any thread, once for each claim."""
        with self._changed:
            ours = self._running.remove([claim for claim, _ in finished])
            self._changed.notify_all()
        if len(ours) < len(finished):
            known = set(ours)
            finished = [one for one in finished if one[0] in known]
        if finished:
            self._scribe.note(finished)

    def _let_go(self, claims: list[Claim]) -> None:
        with self._changed:
            self._held.remove(claims)
            self._changed.notify_all()
        self._sweeper.passed_all(lengths(claims))

    def _leases(self) -> list[tuple[Claim, timedelta]]:
        with self._changed:
            return self._with_leases(self._held)

    def _lose(self, claims: list[Claim]) -> None:
        """They are somebody else's now: stop our own work on them, and say nothing more of it."""
        with self._changed:
            ours = self._running.remove(claims)
            self._held.remove(ours)
            self._changed.notify_all()
        for claim in ours:
            logger.warning(
                "execution.lease_lost",
                execution=str(claim.id),
                attempt=claim.attempt,
                request_id=claim.request_id,
                **trace_of(claim),
            )
        self._scribe.forget(ours)
        self.workshop.interrupt(ours, LeaseLost)

    def _cancel(self, claims: list[Claim]) -> None:
        self.workshop.interrupt(claims, Cancelled)


def bundles(claims: Iterable[Claim], size: Bundle) -> Iterator[tuple[Claim, ...]]:
    """Claims of one task, as many as one thread should run one after another."""
    alike: dict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        alike[claim.task].append(claim)
    for task, of_task in alike.items():
        yield from batched(of_task, size(task))


def _tell_passed_over(offered: Sequence[UUID], claims: Iterable[Claim]) -> None:
    """Say which messages came to nothing: of executions that others have, that are over, or that no row knows.

    The last is what a restored backup leaves behind. To tell them apart would take a look at the rows.
    """
    over = set(offered).difference(claim.id for claim in claims)
    if over:
        logger.info("executor.passed_over", executions=len(over), some=sorted(map(str, over))[:MOST_TOLD])
