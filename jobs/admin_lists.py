"""What keeps the admin's lists fast however long the history: nothing that looks at all rows to show a hundred."""

from __future__ import annotations

from functools import cached_property

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

from execution.registry import registry

MOST_COUNTED = 10_000  # rows: nobody turns more pages than these fill; a filter or a search finds what is further back


class BoundedPaginator(Paginator):
    """Counts no further than somebody would turn pages."""

    @cached_property
    def count(self) -> int:
        return self.object_list[:MOST_COUNTED].count()


class TaskFilter(admin.SimpleListFilter):
    """Offers the tasks that are registered. Django would look through all rows for those that occur."""

    title = "task"
    parameter_name = "task"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(name, name) for name in registry.names()]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset.filter(task=self.value()) if self.value() else queryset


class BoundedList:
    """Of an admin whose table grows."""

    paginator = BoundedPaginator
    show_full_result_count = False
