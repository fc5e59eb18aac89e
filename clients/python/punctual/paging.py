"""Lists of any length, page by page: the next page is fetched when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from punctual.transport import Query, Transport

T = TypeVar("T")


def every_one(transport: Transport, path: str, query: Query, read: Callable[[Mapping[str, Any]], T]) -> Iterator[T]:
    while True:
        page = transport.told("GET", path, query=query)
        yield from map(read, page["results"])
        if not page["next"]:
            return
        # As pairs: a filter may be repeated, and a page without one of its values would list other things.
        query = parse_qsl(urlsplit(page["next"]).query, keep_blank_values=True)


def every_line(transport: Transport, path: str, query: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The lines of a log, which has no last page while it is written: up to the latest line that is there now."""
    while True:
        page = transport.told("GET", path, query=query)
        yield from page["results"]
        if page["finished"] or not page["results"]:
            return
        query = {**query, "after": page["after"]}
