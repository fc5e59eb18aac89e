"""Runs handlers in child processes, so that nothing a handler does can hurt more than its neighbours.

One child serves everybody, on threads. A handler that is stuck in C code is ended with its child: its
neighbours are given back and do not count. A handler that crashes its child leaves several
suspects, none of which counts yet; each then runs alone, in a child of its own, and there the
guilty one is found. The same goes for a handler that was refused memory; the child is then given
no more work, and ends with what it has.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import count
from threading import Lock, Thread
from typing import Any

import structlog
from django.db import connections

from execution.retry import Interrupted, WorkerLost
from execution.runner import Runner
from execution.spans import trace_ended
from execution.voice import Words
from execution.workshop import child, wire
from execution.workshop.base import Finished, Hear, Report, Workshop
from execution.workshop.nursery import Newborn, Nursery, NurseryLost
from jobs.ledger import Claim
from jobs.states import AttemptOutcome
from scheduler_project import tracing

logger = structlog.get_logger(__name__)

Stuck = tuple[Claim, type[Interrupted]]  # one that does not end, and why it was to


class Child:
    """One child process, the claims it holds, and the thread that listens to it."""

    def __init__(self, workshop: ProcessWorkshop, newborn: Newborn, *, alone: bool = False) -> None:
        self._workshop = workshop
        self._retired = alone  # it takes no more work than it has, and ends with that
        self._lock = Lock()
        self._numbers = count()
        self._held: dict[int, Claim] = {}  # by number
        self._guilty: Stuck | None = None  # whose being stuck was why we ended it
        self.ended = False
        self._process = newborn
        self._pipe = newborn.pipe
        Thread(target=self._listen, name="listener", daemon=True).start()

    def submit(self, bundles: Sequence[Sequence[Claim]]) -> bool:
        """Whether the child has them now; one that has ended takes nothing."""
        numbered = [list(zip(self._numbers, bundle, strict=False)) for bundle in bundles]
        with self._lock:
            if self.ended:
                return False
            for bundle in numbered:
                self._held.update(bundle)
        self._tell("submit", [[(number, wire.pack_claim(claim)) for number, claim in bundle] for bundle in numbered])
        return True

    def interrupt(self, claims: Collection[Claim], why: type[Interrupted]) -> None:
        with self._lock:
            numbers = [number for number, claim in self._held.items() if claim in claims]
        if numbers:
            self._tell("interrupt", numbers, why)

    def kill(self) -> None:
        self._process.kill()

    def _tell(self, order: str, *details: Any) -> None:
        # One that is gone is the listener's business, and so is what it held.
        with suppress(OSError), self._lock:
            wire.send(self._pipe, (order, *details))

    def _listen(self) -> None:
        try:
            while True:
                self._heard(wire.receive(self._pipe))
        except (EOFError, OSError):
            pass
        except Exception:
            # With nobody to listen, it would be given work for ever, and its leases would be kept alive.
            logger.exception(
                "workshop.child_not_understood", remedy="its process is replaced, and what it ran runs anew"
            )
        self.kill()  # it may have closed the pipe and gone on
        code = self._process.join()
        with self._lock:
            self.ended = True
            held, self._held = list(self._held.values()), {}
        try:
            self._workshop.child_ended(self, held, self._guilty, code)
        finally:
            connections.close_all()  # the clock may have asked the database, and this thread ends

    def _heard(self, answers: Sequence[tuple[int, wire.Packed | type[Interrupted] | Words | dict[str, Any]]]) -> None:
        finished: list[Finished] = []
        out_of_memory = done = False
        try:
            with self._lock:
                for number, told in answers:
                    if type(told) is tuple:
                        claim = self._held[number]
                        outcome = wire.unpack_outcome(claim, told)
                        finished.append((claim, outcome))
                        del self._held[number]
                        out_of_memory |= outcome.ended == AttemptOutcome.CRASHED
                    elif type(told) is dict:
                        tracing.take(told)
                    elif isinstance(told, type):
                        if stuck := self._held.get(number):
                            self._guilty = stuck, told
                    elif speaker := self._held.get(number):
                        self._workshop.hear(speaker, told)
                self._retired |= out_of_memory
                if self._retired and finished and not self._held:
                    done = self.ended = True
        finally:
            self._workshop.report(finished)  # also when one of the answers makes no sense
        if out_of_memory:
            logger.error("workshop.out_of_memory", remedy="its process is replaced; what it still runs may end there")
            self._workshop.retire(self)
        if self._guilty is not None:
            claim, why = self._guilty
            logger.error(
                "execution.stuck", execution=str(claim.id), told=why.__name__, remedy="its process is replaced"
            )
            self.kill()
        elif done:
            self.kill()


class ProcessWorkshop(Workshop):
    def __init__(self, runner: Runner, threads: int) -> None:
        self.runner = runner
        self.threads = threads
        self._nursery = Nursery(child.main)
        self._lock = Lock()
        self._shared: Child | None = None
        self._apart: set[Child] = set()  # made for one execution, or retired
        self._closed = False

    def start(self, report: Report, hear: Hear) -> None:
        self.report = report
        self.hear = hear
        self._shared = self._bear(self.threads)

    def submit(self, bundles: Sequence[Sequence[Claim]]) -> None:
        alone = {claim for bundle in bundles for claim in bundle if self.runner.is_isolated(claim)}
        together = [[claim for claim in bundle if claim not in alone] for bundle in bundles] if alone else bundles
        while any(together) and not self._shared_child().submit(together):
            pass
        for claim in alone:
            own = self._bear(1, alone=True)
            with self._lock:
                self._apart.add(own)
            if not own.submit([[claim]]):
                self.report([(claim, self.runner.given_back(claim))])

    def interrupt(self, claims: Collection[Claim], why: type[Interrupted]) -> None:
        for one in self._children():
            one.interrupt(claims, why)

    def close(self) -> None:
        self._closed = True
        for one in self._children():
            one.kill()

    def _children(self) -> list[Child]:
        with self._lock:
            return [child for child in (self._shared, *self._apart) if child is not None]

    def _shared_child(self) -> Child:
        with self._lock:
            if self._shared is None or self._shared.ended:
                self._shared = self._bear(self.threads)
            return self._shared

    def _bear(self, threads: int, *, alone: bool = False) -> Child:
        try:
            return Child(self, self._nursery.birth(threads), alone=alone)
        except NurseryLost as error:
            # We could only sit there and claim what we cannot run. Whoever supervises us starts us anew.
            logger.critical("workshop.ends", error=str(error), remedy="this executor ends, and is to be started again")
            os.kill(os.getpid(), signal.SIGTERM)
            raise

    def retire(self, child: Child) -> None:
        """Give it no more work: its memory may stay used up, and others are to have their own."""
        with self._lock:
            if self._shared is child:
                self._shared = None
                self._apart.add(child)

    def child_ended(self, ended: Child, held: list[Claim], guilty: Stuck | None, code: int | None) -> None:
        with self._lock:
            was_apart = ended in self._apart
            self._apart.discard(ended)
            if self._closed:
                return
        if was_apart and not held:
            return  # done, and not needed any more
        if guilty is None and held:
            logger.error("workshop.child_died", exit_code=code, executions=len(held))
        finished = [(claim, self._verdict(claim, len(held), guilty, code)) for claim in held]
        trace_ended(finished)
        self.report(finished)

    def _verdict(self, claim: Claim, held: int, guilty: Stuck | None, code: int | None):
        if guilty is not None:
            stuck, why = guilty
            if claim is stuck:
                return self.runner.failed(claim, why("it did not end when told to, and was killed"))
            return self.runner.given_back(claim)
        error = WorkerLost(f"the process it ran in ended with {_told(code)}")
        # Of several, one is guilty and the others are not: none is counted until it was alone.
        return self.runner.failed(claim, error, ended=AttemptOutcome.CRASHED, forgiven=held > 1)


def _told(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
