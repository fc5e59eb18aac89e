"""Whether a failed attempt is followed by another, and when. Pure: others apply the decision."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.limits import Limits


class GiveUpNow(Exception):
    """Raised by a handler: no further attempt can succeed."""


class RetryLater(Exception):
    """Raised by a handler: try again, but not before `at`, a time or how long from now.

    How long is the better choice: a time depends on the clock of the machine that the handler runs on.
    """

    def __init__(self, reason: str, at: datetime | timedelta) -> None:
        super().__init__(reason)
        if isinstance(at, datetime) and at.tzinfo is None:
            raise ValueError(f"RetryLater needs a time with its zone; {at} has none. Use django.utils.timezone.now().")
        self.at = at


class DestinationDown(Exception):
    """Raised by a handler: whoever it talked to does not answer, or says that it cannot do anything for now.

    Tried again as after any error. But where the task names its destination, enough of these in a row make all
    work for that destination wait, uncounted, until it answers again.
    """


class WorkerLost(Exception):
    """Found by others: whoever ran the attempt is gone, or has stopped answering."""


class Interrupted(BaseException):
    """Raised inside a handler that has to end now. Not an Exception, so that few handlers catch it by accident."""


class TimeLimitExceeded(Interrupted):
    """The attempt took longer than it may."""


class Cancelled(Interrupted):
    """A person wants the execution to end, and the handler did not end by itself."""


class LeaseLost(Interrupted):
    """The execution is no longer ours: whatever the handler still does, somebody else does too."""


@dataclass(frozen=True, slots=True)
class RetryAt:
    at: datetime


@dataclass(frozen=True, slots=True)
class GiveUp:
    pass


def decide(error: BaseException, *, attempt: int, limits: Limits, now: datetime, spread: float) -> RetryAt | GiveUp:
    """What follows attempt number `attempt`, counted from one, which ended with `error`."""
    assert limits.max_retries is not None
    if isinstance(error, GiveUpNow) or attempt > limits.max_retries:
        return GiveUp()
    if isinstance(error, WorkerLost):
        return RetryAt(now)  # it has waited out its lease already
    if isinstance(error, RetryLater):
        return RetryAt(max(now, now + error.at if isinstance(error.at, timedelta) else error.at))
    return RetryAt(now + backoff(attempt, limits, spread))


def backoff(attempt: int, limits: Limits, spread: float) -> timedelta:
    """Twice as long after each attempt, up to the cap. `spread`, from 0 to 1, places it in the upper half.

    Without it, all that failed together would come back together.
    """
    assert limits.retry_delay is not None and limits.retry_delay_cap is not None
    doublings = min(attempt - 1, 60)  # beyond that every delay is above every cap, and numbers overflow
    full = min(limits.retry_delay_cap.total_seconds(), limits.retry_delay.total_seconds() * 2**doublings)
    return timedelta(seconds=full * (0.5 + 0.5 * spread))
