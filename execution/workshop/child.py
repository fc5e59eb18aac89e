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

import structlog
from django.conf import settings

from execution.retry import Interrupted
from execution.running import lengths
from execution.voice import Words
from execution.workshop import wire
from execution.workshop.base import Finished
from execution.workshop.memory import limit_memory
from jobs.ledger import Claim
from scheduler_project import tracing
from scheduler_project.memory import Sweeper

logger = structlog.get_logger(__name__)

MOST_AT_ONCE = 500  # answers a message
NOBODYS = -1  # the number of what no claim says, or not it alone
SWEEP_BYTES = 16 * 1024 * 1024  # of large payloads between two collections of garbage; it holds several times as much
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
            del details  # payloads, which would be kept until the next order comes
    except (EOFError, OSError):
        os._exit(0)  # whoever wanted the work is gone: it is somebody else's by now, or will be


class Desk:
    """Takes orders, has threads carry them out, and answers. Both sides call a claim by its number."""

    def __init__(self, pipe: Connection, threads: int) -> None:
        from execution.processes import make_runner, make_thread_workshop

        self._pipe = pipe
        self._numbers: dict[Claim, int] = {}
        self._answers: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        # An error is a cycle with the frames that it went through, and these hold the payload.
        self._sweeper = Sweeper(SWEEP_BYTES)
        tracing.relay("executor", self._ended)
        self._workshop = make_thread_workshop(make_runner(), threads, on_stuck=self._stuck, on_broken=_end)
        self._workshop.start(self._finished, self._said)
        Thread(target=self._answer, name="answers", daemon=True).start()
        limit_memory(settings.HANDLER_MEMORY_MIB * 2**20)  # with its threads there

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
        self._sweeper.passed_all(lengths(claim for claim, _ in finished))

    def _said(self, claim: Claim, words: Words) -> None:
        if (number := self._numbers.get(claim)) is not None:
            self._answers.put((number, words))

    def _ended(self, span: dict[str, Any]) -> None:
        # Before the outcome, so that nothing of it is lost when we are killed for having done what we were made for.
        self._answers.put((NOBODYS, span))

    def _stuck(self, claim: Claim, why: type[Interrupted]) -> None:
        if (number := self._numbers.get(claim)) is not None:  # it may have ended this moment
            self._answers.put((number, why))

    def _answer(self) -> None:
        """Send answers, those that are ready together in one message."""
        try:
            while True:
                batch = [self._answers.get()]
                time.sleep(GATHER)
                while not self._answers.empty() and len(batch) < MOST_AT_ONCE:
                    batch.append(self._answers.get())
                send(self._pipe, batch)
        except OSError:
            os._exit(0)
        except BaseException:
            _end()


def _end() -> None:
    """End this process, which lacks a part that it needs: the parent then knows that no more outcomes will come."""
    os._exit(1)


def send(pipe: Connection, answers: Sequence[tuple[int, Any]]) -> None:
    """Send answers in one message; if one of them cannot be written, those before and after it without it.

    Only what became of an attempt may not be left out: then it fails, and nothing after it is sent.
    """
    try:
        wire.send(pipe, answers)
    except OSError:
        raise
    except Exception:
        if len(answers) > 1:
            for one in answers:
                send(pipe, [one])
            return
        [(_, told)] = answers
        logger.exception("workshop.answer_left_out", kind=type(told).__name__)
        if type(told) is tuple:
            raise
