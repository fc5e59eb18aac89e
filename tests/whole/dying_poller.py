"""A poller that kills itself right after the named step: `python -m tests.whole.dying_poller STEP`.

The real poller in a real process, with the real adapters; only the step's function is wrapped.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import django

STEPS = ("lease", "write_next_runs", "write_skips", "record", "settle", "publish", "mark")


def dying(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **options: Any) -> Any:
        function(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    return wrapped


def main(step: str) -> None:
    django.setup()
    from execution import outbox
    from jobs import ledger
    from jobs.ledger import recording
    from scheduling import poller as poller_module
    from scheduling.processes import make_poller

    poller = make_poller()
    match step:
        case "lease":
            poller.index.lease = dying(poller.index.lease)
        case "write_next_runs":  # in the middle of the transaction
            recording.run = dying(recording.run)
        case "write_skips":  # all is written, nothing is committed
            ledger.skip = dying(ledger.skip)
        case "record":
            poller_module.record_due = dying(poller_module.record_due)
        case "settle":
            poller.index.settle = dying(poller.index.settle)
        case "publish":
            poller.outbox.broker.publish = dying(poller.outbox.broker.publish)
        case "mark":
            outbox.ledger.mark_queued = ledger.mark_queued = dying(ledger.mark_queued)
    while True:
        poller.tick()


if __name__ == "__main__":
    main(sys.argv[1])
