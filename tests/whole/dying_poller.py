"""Pollers that kill themselves right after a step: `python -m tests.whole.dying_poller` reads the steps, a line each.

The real poller in a real process, with the real adapters; only the step's function is wrapped. To start Python and
Django takes longer than all that a poller does here, so each is forked from a process that has done that and no more.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

import django

ENDED = "ended: "
STEPS = ("lease", "write_next_runs", "write_skips", "record", "settle", "publish", "mark")


def dying(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **options: Any) -> Any:
        function(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    return wrapped


class Pollers:
    """The process that they are forked from, as a test sees it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, step: str) -> tuple[int, str]:
        """Have one poll until it is killed after `step`; return how it ended, and what it said until then."""
        assert self._process.stdin and self._process.stdout
        print(step, file=self._process.stdin, flush=True)
        said = []
        for line in self._process.stdout:
            if line.startswith(ENDED):
                return int(line.removeprefix(ENDED)), "".join(said)
            said.append(line)
        raise AssertionError(f"there are no more pollers:\n{''.join(said)}")


def main() -> None:
    django.setup()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                poll(line.strip())
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        print(f"{ENDED}{os.waitstatus_to_exitcode(status)}", flush=True)


def poll(step: str) -> None:
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
    main()
