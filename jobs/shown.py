"""How values look on our pages: states as badges, instants as times, JSON as text that can be read."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

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
    """In UTC; the script adds what the reader's own clock shows."""
    if at is None:
        return NOTHING
    return format_html('<time class="p-time" datetime="{}">{}</time>', at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}")


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
    return json.dumps(document, indent=2, ensure_ascii=False)
