"""The lives of an execution and of a job, as tables. No database in here.

Models make single moves with these tables, the ledger whole batches; both guard the move in
the UPDATE itself.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Status(StrEnum):
    """Where an execution stands."""

    SCHEDULED = "SCHEDULED"  # recorded
    QUEUED = "QUEUED"  # the broker has confirmed it
    RUNNING = "RUNNING"  # a worker holds it
    RETRYING = "RETRYING"  # an attempt failed, the next one waits for its time
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"  # retries exhausted: it is among the dead letters
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"  # never meant to run, with the reason


TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.SCHEDULED: frozenset({Status.QUEUED, Status.RUNNING, Status.CANCELLED, Status.SKIPPED}),
    Status.QUEUED: frozenset({Status.RUNNING, Status.CANCELLED, Status.SCHEDULED}),  # SCHEDULED: postponed
    Status.RUNNING: frozenset(
        {Status.COMPLETED, Status.RETRYING, Status.FAILED, Status.CANCELLED, Status.SCHEDULED}  # SCHEDULED: given back
    ),
    Status.RETRYING: frozenset({Status.RUNNING, Status.CANCELLED}),
    Status.COMPLETED: frozenset(),
    Status.FAILED: frozenset({Status.SCHEDULED}),  # replayed
    Status.CANCELLED: frozenset(),
    Status.SKIPPED: frozenset(),
}
FINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.SKIPPED})  # left by a person's act only
UNFINISHED = frozenset(Status) - FINAL
# A message may overtake the note that it was published, so SCHEDULED can be claimed too.
CLAIMABLE = frozenset(status for status, targets in TRANSITIONS.items() if Status.RUNNING in targets)


class JobStatus(StrEnum):
    """Whether a job's schedule still makes executions."""

    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    FINISHED = "FINISHED"  # its schedule has no further due time
    CANCELLED = "CANCELLED"


JOB_TRANSITIONS: dict[JobStatus, frozenset[JobStatus]] = {
    JobStatus.ACTIVE: frozenset({JobStatus.PAUSED, JobStatus.FINISHED, JobStatus.CANCELLED}),
    JobStatus.PAUSED: frozenset({JobStatus.ACTIVE, JobStatus.FINISHED, JobStatus.CANCELLED}),
    JobStatus.FINISHED: frozenset({JobStatus.ACTIVE, JobStatus.CANCELLED}),  # ACTIVE: given a new schedule
    JobStatus.CANCELLED: frozenset(),
}


class Priority(IntEnum):
    """RabbitMQ's priorities, with room between them."""

    LOW = 1
    NORMAL = 5
    HIGH = 9


class Cause(StrEnum):
    """What made an execution."""

    SCHEDULE = "schedule"
    RUN_NOW = "run_now"
    BACKFILL = "backfill"  # asked for by hand, for a due time that had passed without a run


class AttemptOutcome(StrEnum):
    """How an attempt that did not complete ended."""

    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"  # its worker was lost: the effect may or may not have happened
    CRASHED = "CRASHED"  # the process it ran in ended under it: the same, and it may be why


class ReplayState(StrEnum):
    """Where a replay stands that tries a few dead letters before it runs the others."""

    TRYING = "TRYING"  # its canaries run
    GOING_ON = "GOING_ON"  # they have completed, and the others are being replayed
    DONE = "DONE"
    STOPPED = "STOPPED"  # a canary did not complete: the others stay dead, with the reason


REPLAY_TRANSITIONS: dict[ReplayState, frozenset[ReplayState]] = {
    ReplayState.TRYING: frozenset({ReplayState.GOING_ON, ReplayState.STOPPED}),
    ReplayState.GOING_ON: frozenset({ReplayState.DONE, ReplayState.STOPPED}),
    ReplayState.DONE: frozenset(),
    ReplayState.STOPPED: frozenset(),
}


class Level(StrEnum):
    """How much a line of a handler's log matters."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def choices(kind: type[StrEnum] | type[IntEnum]) -> list[tuple[str | int, str]]:
    """The members as Django's choices."""
    return [(member.value, member.name.replace("_", " ").capitalize()) for member in kind]


class IllegalMove(Exception):
    """A state was asked to change in a way its table does not allow, or a rival changed it first."""


class ChangedMeanwhile(Exception):
    """What was to be changed is no longer what the caller has seen."""
