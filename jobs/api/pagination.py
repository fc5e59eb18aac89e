"""Pages that stay fast however long the history: each starts where the last one ended, and nothing is counted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from django.conf import settings
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from jobs.api.query_fields import is_comparable
from jobs.numbers import read_whole_number


class NewestFirst(CursorPagination):
    ordering = "-id"  # ids sort by time, and no two are alike: a page neither repeats nor misses a row
    unique = True  # whether it is by id alone: then a cursor needs no count of those that are alike
    page_size = settings.PAGE_SIZE
    page_size_query_param = "page_size"
    max_page_size = 200

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> Any:
        if self.unique and hasattr(queryset, "nearest"):
            cursor = self.decode_cursor(request)
            after, backwards = (UUID(cursor.position), cursor.reverse) if cursor else (None, False)
            queryset = queryset.nearest(self.get_page_size(request) + 1, after=after, backwards=backwards)
        if hasattr(queryset, "in_list"):  # last: what narrows a list of executions down would be slower behind it
            queryset = queryset.in_list()
        return super().paginate_queryset(queryset, request, view)

    def decode_cursor(self, request: Request) -> Any:
        try:
            cursor = super().decode_cursor(request)
            if cursor is not None:
                if self.unique and (cursor.position is None or cursor.offset):
                    raise ValueError("no cursor of ours, because ids are unique")
                if cursor.position is not None and str(self.read_position(cursor.position)) != cursor.position:
                    raise ValueError("another spelling of a position")
                if request.query_params[self.cursor_query_param] != self._spelled(cursor, request):
                    raise ValueError("another spelling of a cursor")
        except (NotFound, ValueError, OverflowError):
            message = "is none of ours. Follow `next` and `previous` as they are, or begin without one."
            raise ValidationError({self.cursor_query_param: [message]}) from None
        return cursor

    def _spelled(self, cursor: Cursor, request: Request) -> str:
        """A cursor as links of ours have it."""
        self.base_url = request.build_absolute_uri()  # as DRF sets it before it makes links
        return parse_qs(urlsplit(self.encode_cursor(cursor)).query, keep_blank_values=True)[self.cursor_query_param][0]

    def read_position(self, position: str) -> object:
        """What a cursor says its page starts at; a ValueError if it cannot have come from us."""
        return UUID(position)

    def read_instant(self, position: str) -> datetime:
        """The same, of a list that is in the order of time."""
        instant = datetime.fromisoformat(position)
        if instant.tzinfo is None or not is_comparable(instant):
            raise ValueError("not a time that a page of ours starts at")
        return instant.astimezone(UTC)

    def get_page_size(self, request: Request) -> int:
        asked = request.query_params.get(self.page_size_query_param)
        if asked is None:
            return self.page_size
        size = read_whole_number(asked)
        if size is None or not 1 <= size <= self.max_page_size:
            message = f"must be a whole number from 1 to {self.max_page_size}."
            raise ValidationError({self.page_size_query_param: [message]})
        return size

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """As DRF tells them, with the bounds."""
        told = super().get_schema_operation_parameters(view)
        for parameter in told:
            if parameter["name"] == self.page_size_query_param:
                parameter["schema"] |= {"minimum": 1, "maximum": self.max_page_size, "default": self.page_size}
        return told
