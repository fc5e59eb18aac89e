"""Waiting for an execution: looks often at first, because most are over at once, then ever less often."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from punctual.errors import StillGoing

if TYPE_CHECKING:
    from punctual.models import Execution

FIRST, GROWTH, LONGEST = 0.05, 1.4, 2.0  # seconds, times, seconds


def until_over(execution: Execution, timeout: float) -> Execution:
    deadline = time.monotonic() + timeout
    pause = FIRST
    while not execution.is_over:
        left = deadline - time.monotonic()
        if left <= 0 or execution.again is None:
            raise StillGoing(
                f"Execution {execution.id} is {execution.status} after {timeout:g} s. Wait longer, or look again later."
            )
        time.sleep(min(pause, left))
        pause = min(LONGEST, pause * GROWTH)
        execution = execution.again(execution.id)
    return execution


def await_first(look: Callable[[], Execution | None], job: str, timeout: float = 60.0) -> Execution:
    """The first execution of a job, once it is recorded."""
    deadline = time.monotonic() + timeout
    while (found := look()) is None:
        if time.monotonic() > deadline:
            raise StillGoing(f"Job {job} has no execution after {timeout:g} s. Is a poller running?")
        time.sleep(FIRST)
    return found
