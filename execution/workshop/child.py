"""The process that handlers run in: told what to run over a pipe, and ends when the pipe does.

It has no broker and no lease. Whoever started it claims, keeps the leases alive and writes outcomes;
so this process can be killed at any moment, and nobody is fooled.
"""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from threading import Thread
from typing import Any
from uuid import UUID

MOST_AT_ONCE = 500  # outcomes a message
GATHER = 0.001  # seconds: waking up for each would take the interpreter from the handlers, and they are many


def _uuid(number: int) -> UUID:
    return UUID(int=number)


# What goes through the pipe is full of ids, and by itself each takes several microseconds to be packed and unpacked.
ForkingPickler.register(UUID, lambda one: (_uuid, (one.int,)))


def main(pipe: Connection, threads: int) -> None:
    """Serve until the pipe closes. Signals meant for the whole group are the parent's to heed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    from execution.processes import make_runner, make_thread_workshop

    answers: SimpleQueue[Any] = SimpleQueue()
    workshop = make_thread_workshop(
        make_runner(), threads, on_stuck=lambda claim, why: answers.put(("stuck", (claim.key, why)))
    )
    workshop.start(lambda finished: answers.put(("done", [(claim.key, outcome) for claim, outcome in finished])))
    Thread(target=_answer, args=(pipe, answers), name="answers", daemon=True).start()
    try:
        while True:
            order, *details = pipe.recv()
            getattr(workshop, order)(*details)
    except (EOFError, OSError):
        os._exit(0)  # whoever wanted the work is gone: it is somebody else's by now, or will be


def _answer(pipe: Connection, answers: SimpleQueue[Any]) -> None:
    """Send answers, those that are ready together in one message."""
    while True:
        batch = [answers.get()]
        time.sleep(GATHER)
        while not answers.empty() and len(batch) < MOST_AT_ONCE:
            batch.append(answers.get())
        try:
            pipe.send(batch)
        except OSError:
            os._exit(0)
