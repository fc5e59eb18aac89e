"""How long an attempt may take, how often and when it is tried again. Pure.

The job has the first word, then its task, then the settings.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Limits:
    """What is None is said by somebody else."""

    max_retries: int | None = None
    retry_delay: timedelta | None = None  # before the first retry; each further one waits twice as long
    retry_delay_cap: timedelta | None = None  # … but never longer than this
    time_limit: timedelta | None = None  # for one attempt
    lease: timedelta | None = None  # without a heartbeat for this long, the worker is lost

    def or_else(self, other: Limits) -> Limits:
        """These, and where they say nothing, the other's."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return Limits(**{name: getattr(other, name) if value is None else value for name, value in own.items()})
