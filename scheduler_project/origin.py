"""What a request leaves with all that it sets going: its id, and where it was traced.

Both are kept in the rows of jobs, executions and replays, so that whoever runs them, whenever and wherever, can tell.
"""

from __future__ import annotations

from typing import NamedTuple

from scheduler_project import tracing
from scheduler_project.request_ids import current_request_id

TRACEPARENT = 55  # characters of a W3C traceparent


class Origin(NamedTuple):
    """Its fields are columns of what keeps it."""

    request_id: str | None
    traceparent: str | None


NOBODY = Origin(None, None)


def current_origin() -> Origin:
    """That of the request that is being answered; NOBODY outside of any."""
    return Origin(current_request_id(), tracing.current_traceparent())
