"""Pages in the order things were made."""

from __future__ import annotations

from datetime import datetime

from django.utils.dateparse import parse_datetime

from jobs.api.pagination import NewestFirst


class ByTime(NewestFirst):
    """Oldest first: the order in which memberships count."""

    ordering = "created_at"

    def read_position(self, position: str) -> datetime:
        instant = parse_datetime(position)
        if instant is None or instant.tzinfo is None:
            raise ValueError("no time that a page of ours starts at")
        return instant


class LatestFirst(ByTime):
    ordering = "-created_at"
