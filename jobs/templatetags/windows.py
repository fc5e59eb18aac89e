"""How the pages write times, lengths of time, states and JSON."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.dashboard.charts.scale import count_told, seconds_told
from jobs.shown import length, local, readable

register = template.Library()
register.filter("seconds", lambda value: "–" if value in (None, "") else seconds_told(value))
register.filter("count", count_told)
register.filter("length_of", length)
register.filter("local", local)
register.filter("readable", readable)


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """How long ago, or how soon: the browser counts on by itself."""
    return _moment(at, "ago", "%Y-%m-%d %H:%M:%S UTC")


@register.filter
def clock(at: datetime | None) -> SafeString | str:
    return _moment(at, "second", "%H:%M:%S UTC")


@register.filter
def at(at: datetime | None) -> SafeString | str:
    return _moment(at, "full", "%Y-%m-%d %H:%M:%S UTC")


@register.filter
def took(start: datetime | None, end: datetime | None) -> str:
    return "–" if start is None or end is None else seconds_told(max(0.0, (end - start).total_seconds()))


@register.filter
def badge(status: str) -> SafeString:
    """A state with its colour; the word is there too, for those who see none."""
    return format_html('<span class="badge {}">{}</span>', str(status).lower(), str(status).replace("_", " ").lower())


def _moment(at: datetime | None, form: str, written: str) -> SafeString | str:
    if at is None:
        return "–"
    return format_html(
        '<time datetime="{}" data-form="{}" title="{}">{}</time>',
        at.isoformat(),
        form,
        f"{at:%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC",
        at.strftime(written),
    )
