"""Pages in the order things were made."""

from __future__ import annotations

from datetime import datetime

from jobs.api.pagination import NewestFirst


class ByTime(NewestFirst):
    """Oldest first: the order in which memberships count."""

    ordering = "created_at"

    def read_position(self, position: str) -> datetime:
        return self.read_instant(position)


class LatestFirst(ByTime):
    ordering = "-created_at"
