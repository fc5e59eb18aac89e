"""How long an attempt may take, how often and when it is tried again. Pure.

The job has the first word, then its task, then the settings.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple


class Limits(NamedTuple):
    """What is None is said by somebody else."""

    max_retries: int | None = None
    retry_delay: timedelta | None = None  # before the first retry; each further one waits twice as long
    retry_delay_cap: timedelta | None = None  # … but never longer than this
    time_limit: timedelta | None = None  # for one attempt
    lease: timedelta | None = None  # without a heartbeat for this long, the worker is lost


@lru_cache(maxsize=1000)  # asked for every execution, and there are few different ones
def combined(*voices: Limits) -> Limits:
    """What the first of `voices` that says anything says, for each of the limits."""
    return Limits(
        *(next((said for said in answers if said is not None), None) for answers in zip(*voices, strict=True))
    )
