"""The process that handlers run in: told what to run over a pipe, and ends when the pipe does.

It has no broker and no lease. Whoever started it claims, keeps the leases alive and writes outcomes;
so this process can be killed at any moment, and nobody is fooled.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Sequence
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

from execution.retry import Interrupted
from execution.voice import Words
from execution.workshop import wire
from execution.workshop.base import Finished
from jobs.ledger import Claim

MOST_AT_ONCE = 500  # answers a message
GATHER = 0.001  # seconds: waking up for each would take the interpreter from the handlers, and they are many


def main(pipe: Connection, threads: int) -> None:
    """Serve until the pipe closes. Signals meant for the whole group are the parent's to heed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    desk = Desk(pipe, threads)
    try:
        while True:
            order, *details = wire.receive(pipe)
            getattr(desk, order)(*details)
    except (EOFError, OSError):
        os._exit(0)  # whoever wanted the work is gone: it is somebody else's by now, or will be


class Desk:
    """Takes orders, has threads carry them out, and answers. Both sides call a claim by its number."""

    def __init__(self, pipe: Connection, threads: int) -> None:
        from execution.processes import make_runner, make_thread_workshop

        self._pipe = pipe
        self._numbers: dict[Claim, int] = {}
        self._answers: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._workshop = make_thread_workshop(make_runner(), threads, on_stuck=self._stuck)
        self._workshop.start(self._finished, self._said)
        Thread(target=self._answer, name="answers", daemon=True).start()

    def submit(self, bundles: Sequence[Sequence[tuple[int, wire.Packed]]]) -> None:
        for bundle in bundles:
            claims = {wire.unpack_claim(*packed): number for number, packed in bundle}
            self._numbers |= claims
            self._workshop.submit([list(claims)])

    def interrupt(self, numbers: Collection[int], why: type[Interrupted]) -> None:
        self._workshop.interrupt([claim for claim, number in list(self._numbers.items()) if number in numbers], why)

    def _finished(self, finished: Sequence[Finished]) -> None:
        for claim, outcome in finished:
            self._answers.put((self._numbers.pop(claim), wire.pack_outcome(outcome)))

    def _said(self, claim: Claim, words: Words) -> None:
        if (number := self._numbers.get(claim)) is not None:
            self._answers.put((number, words))

    def _stuck(self, claim: Claim, why: type[Interrupted]) -> None:
        if (number := self._numbers.get(claim)) is not None:  # it may have ended this moment
            self._answers.put((number, why))

    def _answer(self) -> None:
        """Send answers, those that are ready together in one message."""
        while True:
            batch = [self._answers.get()]
            time.sleep(GATHER)
            while not self._answers.empty() and len(batch) < MOST_AT_ONCE:
                batch.append(self._answers.get())
            try:
                wire.send(self._pipe, batch)
            except OSError:
                os._exit(0)
