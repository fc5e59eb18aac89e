"""The spans of time that a dashboard looks back on, each cut into buckets that begin at round times. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from jobs.ids import EPOCH


class Span(NamedTuple):
    key: str
    label: str
    width: timedelta  # of a bucket
    buckets: int

    def starts(self, now: datetime) -> Iterator[datetime]:
        """Where each bucket begins; the last one is not over yet."""
        latest = now - (now - EPOCH) % self.width
        return (latest - self.width * back for back in reversed(range(self.buckets)))


FIVE_MINUTES = Span("5m", "5 minutes", timedelta(seconds=5), 60)
HOUR = Span("1h", "1 hour", timedelta(minutes=1), 60)
DAY = Span("24h", "24 hours", timedelta(minutes=15), 96)
SPANS = {span.key: span for span in (FIVE_MINUTES, HOUR, DAY)}
