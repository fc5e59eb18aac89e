"""Pages that stay fast however long the history: each starts where the last one ended."""

from uuid import UUID

from django.conf import settings
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination


class NewestFirst(CursorPagination):
    ordering = "-id"  # ids sort by time
    page_size = settings.PAGE_SIZE
    page_size_query_param = "page_size"
    max_page_size = 200

    def decode_cursor(self, request):
        cursor = super().decode_cursor(request)
        if cursor is not None and cursor.position is not None:
            try:
                self.read_position(cursor.position)
            except (ValueError, OverflowError):
                raise NotFound(self.invalid_cursor_message) from None
        return cursor

    def read_position(self, position: str) -> object:
        """What a cursor says its page starts at; a ValueError if it cannot have come from us."""
        return UUID(position)
