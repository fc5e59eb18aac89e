"""What `Retry-After` asks for, as a length of time. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LEAST = timedelta(seconds=1)  # whoever answers "at once" is not to be hammered


def asked_wait(headers: Mapping[str, str], *, now: datetime, most: timedelta) -> timedelta | None:
    """How long the answer asks us to wait, within bounds; None if it does not, or in words that nobody can read."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(max(timedelta(seconds=min(int(text[:12]), 10**9)), LEAST), most)
    until = _instant(text)
    if until is None:
        return None
    # By the peer's own clock, where it tells the time: ours may be off, or theirs.
    said = _instant(headers.get("date", "")) or now
    return min(max(until - said, LEAST), most)


def _instant(text: str) -> datetime | None:
    try:
        instant = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
