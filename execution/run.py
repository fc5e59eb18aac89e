"""What a handler knows of the run it is part of, and what it can say about it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from execution.voice import Voice

NOBODY = UUID(int=0)


@dataclass(slots=True, eq=False)
class Seat:
    """What others know of a run: whether it is to end, by when, and who hears what it says."""

    to_end: bool = field(default=False, init=False)
    ends_at: float = field(default=float("inf"), init=False)  # by the monotonic clock: then it is interrupted
    voice: Voice | None = field(default=None, init=False)

    def is_last(self) -> bool:
        """Whether no other attempt follows if this one fails."""
        return False

    def speak(self) -> Voice:
        """The voice, made when it is first needed."""
        raise RuntimeError("Nobody hears this run: it was not started by an executor. Try execution.rehearsal.")


@dataclass(slots=True)
class Run:
    """What a handler knows of the run it is part of."""

    execution_id: UUID
    attempt: int
    tenant_id: UUID = NOBODY
    _seat: Seat = field(default_factory=Seat, compare=False, repr=False)

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at one due time: give it to whatever must not act twice."""
        return str(self.execution_id)

    @property
    def cancelled(self) -> bool:
        """Whether somebody wants this to end: a handler that looks can end tidily, others are interrupted."""
        return self._seat.to_end

    @property
    def last_attempt(self) -> bool:
        """Whether this execution is given up if this attempt fails."""
        return self._seat.is_last()

    @property
    def deadline(self) -> datetime | None:
        """When this attempt is interrupted, by the clock of this machine; None if it may take as long as it likes."""
        ends_at = self._seat.ends_at
        return None if ends_at == float("inf") else timezone.now() + timedelta(seconds=ends_at - time.monotonic())

    def progress(self, fraction: float, message: object = "") -> None:
        """Say how far this is, as a part of 1. Only the latest is kept, so say it as often as you like."""
        self._voice.progress(fraction, message)

    def log(self, text: Any, *, level: str = "info") -> None:
        """Keep a line with this attempt. Levels are debug, info, warning and error."""
        self._voice.log(text, level)

    @property
    def _voice(self) -> Voice:
        return self._seat.voice or self._seat.speak()
