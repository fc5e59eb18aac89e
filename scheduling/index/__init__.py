"""The due index in use, chosen by `REDIS_URL`, and what is done with it from outside the poller."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from uuid import UUID

import structlog
from django.conf import settings

from scheduling.index.base import DueIndex, IndexIncomplete, IndexUnavailable

__all__ = ["DueIndex", "IndexIncomplete", "IndexUnavailable", "announce", "get_due_index"]

logger = structlog.get_logger(__name__)


@cache
def get_due_index() -> DueIndex:
    if settings.REDIS_URL:
        from scheduling.index.redis import RedisDueIndex

        return RedisDueIndex(settings.REDIS_URL, prefix=settings.NAME_PREFIX, slots=settings.DUE_INDEX_SLOTS)
    from scheduling.index.database import DatabaseDueIndex

    return DatabaseDueIndex()


def announce(next_due: Mapping[UUID, datetime | None]) -> None:
    """Tell the index what was just committed: when each job is due, or that it no longer is.

    An index out of reach is no reason to refuse a job: it is overdue in the database soon
    enough, and put back from there.
    """
    index = get_due_index()
    try:
        index.put({job: at for job, at in next_due.items() if at})
        index.discard([job for job, at in next_due.items() if not at])
    except IndexUnavailable as error:
        logger.warning("index.announcement_lost", jobs=len(next_due), error=str(error), remedy="restored when overdue")
