"""Pages in the order things were made: each starts where the last one ended."""

from django.conf import settings
from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination


class ByTime(CursorPagination):
    """Oldest first: the order in which memberships count."""

    ordering = "created_at"
    page_size = settings.PAGE_SIZE

    def decode_cursor(self, request):
        cursor = super().decode_cursor(request)
        if cursor is not None and cursor.position is not None:
            try:
                readable = parse_datetime(cursor.position)
            except ValueError:
                readable = None
            if readable is None:
                raise NotFound(self.invalid_cursor_message)
        return cursor


class LatestFirst(ByTime):
    ordering = "-created_at"
