"""What can be wrong, and what of it people may ask to be told. Pure."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What an incident is."""

    MISSED = "missed"  # a due time has passed, and nobody has recorded an execution for it
    LATE = "late"  # an execution may start, and has not
    FAILED = "failed"  # executions were given up: they are dead letters
    NO_POLLER = "no_poller"
    STUCK_POLLER = "stuck_poller"  # one is there, and the job that has been due longest stays where it is
    NO_EXECUTOR = "no_executor"  # of a task that has work waiting
    STUCK_EXECUTOR = "stuck_executor"  # some are there, and complete nothing of what they hold or are offered
    NO_RECOVERER = "no_recoverer"


class Wish(StrEnum):
    """What a rule may ask for."""

    MISSED = "missed"
    LATE = "late"
    FAILED = "failed"
    RECOVERED = "recovered"  # that what it was told of is over


class Channel(StrEnum):
    EMAIL = "email"
    WEBHOOK = "webhook"


OF_A_JOB = (Kind.MISSED, Kind.LATE, Kind.FAILED)
OF_THE_SYSTEM = tuple(kind for kind in Kind if kind not in OF_A_JOB)
# What whoever runs Punctual is told. That a job fails is its owner's matter; that it is not run in time is theirs.
FOR_OPERATORS = (*OF_THE_SYSTEM, Kind.MISSED, Kind.LATE)
