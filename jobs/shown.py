"""How values look on our pages: states as badges, instants as times, JSON as text that can be read."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.redaction import redacted

NOTHING = "–"
TONES = {  # what a state is to whoever looks
    "COMPLETED": "good",
    "ACTIVE": "good",
    "FAILED": "bad",
    "CRASHED": "bad",
    "RUNNING": "busy",
    "QUEUED": "calm",
    "SCHEDULED": "calm",
    "RETRYING": "warn",
    "PAUSED": "warn",
    "UNKNOWN": "warn",
    "SKIPPED": "dim",
    "CANCELLED": "dim",
    "FINISHED": "dim",
}


def tone_of(status: str) -> str:
    return TONES.get(status, "dim")


def badge(status: str) -> SafeString:
    return format_html('<span class="p-badge p-{}">{}</span>', tone_of(status), status.capitalize())


def moment(at: datetime | None) -> SafeString | str:
    """In UTC, which it says; the script adds what the reader's own clock shows."""
    if at is None:
        return NOTHING
    return format_html('<time class="p-time" datetime="{}">{}</time>', at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S} UTC")


def clock(at: datetime) -> SafeString:
    """The time of day in UTC, for lines that stand close together."""
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), f"{at:%H:%M:%S}")


def local(at: datetime) -> str:
    """An instant as clocks show it in the zone that it is in. Django's own filters would convert it to UTC first."""
    return f"{at:%a %Y-%m-%d %H:%M:%S}".removesuffix(":00") + f" {at.tzname()}"


def length(span: timedelta | None) -> str:
    if span is None:
        return NOTHING
    seconds = span.total_seconds()
    if abs(seconds) < 1:
        return f"{seconds * 1000:.0f} ms"
    if abs(seconds) < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    named = [f"{number} {unit}" for number, unit in parts if number]
    return " ".join(named[:2])


def readable(document: Any) -> str:
    """A document as JSON with its secrets hidden. Every page writes documents with this, so that none forgets to."""
    return json.dumps(redacted(document), indent=2, ensure_ascii=False)
