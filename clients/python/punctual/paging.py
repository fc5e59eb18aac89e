"""Lists of any length, page by page: the next one is fetched when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from punctual.transport import Transport

T = TypeVar("T")


def every_one(
    transport: Transport, path: str, query: Mapping[str, Any], read: Callable[[Mapping[str, Any]], T]
) -> Iterator[T]:
    while True:
        page = transport.told("GET", path, query=query)
        yield from map(read, page["results"])
        if not page["next"]:
            return
        query = dict(parse_qsl(urlsplit(page["next"]).query))
