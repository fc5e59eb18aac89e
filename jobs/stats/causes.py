"""Dead letters by what killed them: the task, and the error without what differs from run to run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from accounts.models import Tenant
from jobs.stats.buckets import within

MOST = 1_000  # dead letters looked at, the latest
# Ids, addresses and numbers: the same fault names another one each time.
VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|\d+(\.\d+)?", re.IGNORECASE)


@dataclass(slots=True)
class Cause:
    task: str
    error: str  # of the latest
    latest: UUID
    last: datetime
    first: datetime
    count: int = 0
    executions: list[UUID] = field(default_factory=list)


def causes(scope: Tenant | None) -> list[Cause]:
    """The most frequent first."""
    found: dict[tuple[str, str], Cause] = {}
    dead = within(scope).dead().order_by("-id").values_list("id", "task", "error", "finished_at")[:MOST]
    for pk, task, error, at in dead:
        cause = found.setdefault((task, VARYING.sub("…", error)), Cause(task, error, pk, at, at))
        cause.count += 1
        cause.first = min(cause.first, at)
        cause.executions.append(pk)
    return sorted(found.values(), key=lambda cause: (-cause.count, cause.task))
