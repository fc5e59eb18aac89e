"""Pages that stay fast however long the history: each starts where the last one ended, and nothing is counted."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request


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
        return super().paginate_queryset(queryset, request, view)

    def decode_cursor(self, request: Request) -> Any:
        try:
            cursor = super().decode_cursor(request)
            if cursor is not None:
                if self.unique and (cursor.position is None or cursor.offset):
                    raise ValueError("no cursor of ours, because ids are unique")
                if cursor.position is not None:
                    self.read_position(cursor.position)
        except (NotFound, ValueError, OverflowError):
            message = "is none of ours. Follow `next` and `previous` as they are, or begin without one."
            raise ValidationError({self.cursor_query_param: [message]}) from None
        return cursor

    def read_position(self, position: str) -> object:
        """What a cursor says its page starts at; a ValueError if it cannot have come from us."""
        return UUID(position)

    def get_page_size(self, request: Request) -> int:
        asked = request.query_params.get(self.page_size_query_param)
        if asked is None:
            return self.page_size
        if not asked.isascii() or not asked.isdigit() or not 1 <= int(asked[:10]) <= self.max_page_size:
            message = f"must be a whole number from 1 to {self.max_page_size}."
            raise ValidationError({self.page_size_query_param: [message]})
        return int(asked)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """As DRF tells them, with the bounds."""
        told = super().get_schema_operation_parameters(view)
        for parameter in told:
            if parameter["name"] == self.page_size_query_param:
                parameter["schema"] |= {"minimum": 1, "maximum": self.max_page_size, "default": self.page_size}
        return told
