"""Pages that stay fast however long the history: each starts where the last one ended, and nothing is counted."""

from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request


class NewestFirst(CursorPagination):
    ordering = "-id"  # ids sort by time, and no two are alike: a page neither repeats nor misses a row
    page_size = settings.PAGE_SIZE
    page_size_query_param = "page_size"
    max_page_size = 200

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> Any:
        if hasattr(queryset, "nearest"):
            cursor = self.decode_cursor(request)
            after, backwards = (UUID(cursor.position), cursor.reverse) if cursor else (None, False)
            queryset = queryset.nearest(self.get_page_size(request) + 1, after=after, backwards=backwards)
        return super().paginate_queryset(queryset, request, view)

    def decode_cursor(self, request: Request) -> Any:
        try:
            cursor = super().decode_cursor(request)
            if cursor is not None and (cursor.position is None or cursor.offset):
                raise ValueError("no cursor of ours, because ids are unique")
            if cursor is not None:
                UUID(cursor.position)
        except (NotFound, ValueError):
            told = "is none of ours. Take it from `next` or `previous` of an answer, or leave it out to begin anew."
            raise ValidationError({self.cursor_query_param: [told]}) from None
        return cursor

    def get_page_size(self, request: Request) -> int:
        wanted = request.query_params.get(self.page_size_query_param)
        if wanted is None:
            return self.page_size
        if not (wanted.isascii() and wanted.isdigit() and 1 <= int(wanted[:9]) <= self.max_page_size):
            told = f"must be a whole number from 1 to {self.max_page_size}."
            raise ValidationError({self.page_size_query_param: [told]})
        return int(wanted)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        parameters = super().get_schema_operation_parameters(view)
        for parameter in parameters:
            if parameter["name"] == self.page_size_query_param:
                parameter["schema"] = {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": self.max_page_size,
                    "default": self.page_size,
                }
        return parameters
