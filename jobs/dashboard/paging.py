"""Pages that begin where the last one ended, so that the thousandth costs what the first does."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

SIZE = 50


class Page(NamedTuple):
    rows: list[Any]
    newer: str  # the query of that page; empty where there is none
    older: str


def paged(request: HttpRequest, rows: QuerySet) -> Page:
    """Newest first: `?before=id` goes on below it, `?after=id` comes back above it."""
    before, after = _id(request.GET.get("before")), _id(request.GET.get("after"))
    if after is not None:
        found = list(rows.filter(id__gt=after).order_by("id")[: SIZE + 1])
        more_newer, more_older = len(found) > SIZE, True
        shown = found[:SIZE][::-1]
    else:
        if before is not None:
            rows = rows.filter(id__lt=before)
        found = list(rows.order_by("-id")[: SIZE + 1])
        more_newer, more_older = before is not None, len(found) > SIZE
        shown = found[:SIZE]
    if not shown:
        return Page([], _query(request) if before or after else "", "")
    return Page(
        shown,
        _query(request, after=shown[0].pk) if more_newer else "",
        _query(request, before=shown[-1].pk) if more_older else "",
    )


def _query(request: HttpRequest, **position: Any) -> str:
    kept = {key: value for key, value in request.GET.items() if key not in ("before", "after", "live") and value}
    return "?" + urlencode({**kept, **position})


def _id(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None
