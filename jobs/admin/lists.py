"""What keeps the admin's lists fast however long the history: nothing that looks at all rows to show fifty.

A page starts where the last one ended, nothing is counted, and a filter that no index serves looks through a stated
number of rows at a time: how far it has looked is told, with a link to go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.views.main import ERROR_FLAG
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from unfold.views import ChangeList

from execution.registry import registry

LOOKED_THROUGH = 20_000  # rows a page, where a filter decides: some hundredths of a second
MOST_COUNTED = 10_000  # of the few lists that count: nobody turns more pages than these fill
OLDER, NEWER = "after", "before"  # parameters: the id that the page comes after, or before


class BoundedPaginator(Paginator):
    """Counts no further than somebody would turn pages: of users and tenants, and what is looked up while typing."""

    @cached_property
    def count(self) -> int:
        return self.object_list.order_by()[:MOST_COUNTED].count()


class KeysetPaginator(Paginator):
    """What the templates ask of a paginator, of a list that has no numbers of pages."""

    template_name = "admin/punctual/pages.html"
    count = num_pages = 0


class KeysetList(ChangeList):
    """A list by id, newest first."""

    newer: str = ""
    older: str = ""
    looked_back_to: Any = None  # the last row that was looked at, where the search has not reached the end

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str] | None = None) -> QuerySet:
        for name in (OLDER, NEWER):
            self.filter_params.pop(name, None)  # a place in a list means nothing in another
        return super().get_queryset(request, exclude_parameters)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet) -> list[str]:
        return ["-pk"]

    def get_results(self, request: HttpRequest) -> None:
        after, before = (self._place(request.GET.get(name, "")) for name in (OLDER, NEWER))
        backwards = after is None and before is not None
        rows = self._beyond(self.queryset, before if backwards else after, backwards)
        edge = self._edge(before if backwards else after, backwards) if self._is_sifted else None
        if edge is not None:
            rows = rows.filter(**{"pk__lte" if backwards else "pk__gte": edge})
        found = list(rows.defer(*self.model_admin.unlisted)[: self.list_per_page + 1])
        more = len(found) > self.list_per_page
        found = found[: self.list_per_page]
        if backwards:
            found.reverse()
        self._link(found, more, edge, at_start=after is None and before is None, backwards=backwards)
        self._show(found)

    @property
    def _is_sifted(self) -> bool:
        """Whether rows are looked at that may not belong to the list: those found by an id all do."""
        if self.query and identifier(self.query):
            return False
        return bool(set(self.filter_params) - set(self.model_admin.indexed_params))

    def _place(self, text: str) -> Any:
        try:
            return self.model._meta.pk.to_python(text) if text else None
        except ValidationError:
            return None

    def _beyond(self, rows: QuerySet, place: Any, backwards: bool) -> QuerySet:
        if backwards:
            return rows.filter(pk__gt=place).order_by("pk")
        return rows.filter(pk__lt=place) if place is not None else rows

    def _edge(self, place: Any, backwards: bool) -> Any:
        """The last id of those looked through, if there are more. Read from the primary key's index alone."""
        wide = self.model._base_manager.order_by("-pk")
        for name in self.model_admin.indexed_params:
            if name in self.filter_params:
                wide = wide.filter(**{name: self.filter_params[name][-1]})
        found = self._beyond(wide, place, backwards).values_list("pk", flat=True)
        return next(iter(found[LOOKED_THROUGH - 1 : LOOKED_THROUGH]), None)

    def _link(self, found: Sequence[Any], more: bool, edge: Any, *, at_start: bool, backwards: bool) -> None:
        far, near = (found[0], found[-1]) if backwards and found else (found[-1], found[0]) if found else (None, None)
        if more:
            beyond = far.pk
        else:
            beyond = edge
            self.looked_back_to = edge
        onwards = self._to(NEWER if backwards else OLDER, beyond) if beyond is not None else ""
        back = self._to(OLDER if backwards else NEWER, near.pk) if near is not None and not at_start else ""
        self.newer, self.older = (onwards, back) if backwards else (back, onwards)
        self.looking_further = onwards if self.looked_back_to is not None else ""

    def _to(self, name: str, place: Any) -> str:
        return self.get_query_string({name: str(place)})

    def _show(self, found: list[Any]) -> None:
        self.result_list = found
        self.result_count = self.full_result_count = len(found)  # the same: nothing is said about a whole
        self.show_full_result_count = self.can_show_all = self.multi_page = False
        self.show_admin_actions = True
        self.paginator = KeysetPaginator(found, self.list_per_page)


class TaskFilter(admin.SimpleListFilter):
    """Offers the tasks that are registered. Django would look through all rows for those that occur."""

    title = "task"
    parameter_name = "task"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(name, name) for name in registry.names()]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset.filter(task=self.value()) if self.value() else queryset


class LongList:
    """Of an admin whose table grows: for its ModelAdmin, before Unfold's."""

    paginator = BoundedPaginator  # of what is looked up while typing
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # they count all rows of each choice
    list_per_page = settings.PAGE_SIZE
    list_disable_select_all = True
    sortable_by: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()  # columns that may be long, and that no list shows
    indexed_params: tuple[str, ...] = ()  # filters that an index serves together with the order by id
    tab_param = ""  # the filter that is shown as tabs above the list
    tab_choices: Sequence[tuple[Any, str]] = ()
    list_before_template = "admin/punctual/tabs.html"

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return KeysetList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Refuse filters on documents: letter by letter, they would reveal the secrets that pages hide."""
        if any(f"{lookup}__".startswith(f"{name}__") for name in self.unlisted):
            return False
        return lookup in self.indexed_params or super().lookup_allowed(lookup, value, request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if ERROR_FLAG in request.GET:  # where Django leads to from filters that it cannot apply
            self.message_user(request, "Unknown or invalid filter. The list is not filtered.", messages.WARNING)
        return super().changelist_view(request, {**(extra_context or {}), "tabs": self._tabs(request)})

    def _tabs(self, request: HttpRequest) -> list[dict[str, Any]]:
        if not self.tab_param:
            return []
        chosen = request.GET.get(self.tab_param, "")
        query = request.GET.copy()
        for name in (OLDER, NEWER, self.tab_param):
            query.pop(name, None)
        tabs = []
        for value, title in [("", "All"), *self.tab_choices]:
            own = query.copy()
            if value != "":
                own[self.tab_param] = str(value)
            tabs.append({"title": title, "link": f"?{own.urlencode()}", "chosen": str(value) == chosen})
        return tabs

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, term: str) -> tuple[QuerySet, bool]:
        """An id is looked up. Other words are sought in the texts that `search_texts` names."""
        if not (term := term.strip()):
            return queryset, False
        if (wanted := identifier(term)) is None:
            return queryset.filter(self._with_words(term)), False
        # One after the other, because no index serves them together.
        found = (queryset.filter(**{name: wanted}) for name in self.search_ids)
        return next((rows for rows in found if rows.exists()), queryset.none()), False

    search_ids: tuple[str, ...] = ()
    search_texts: tuple[str, ...] = ()

    @property
    def search_fields(self) -> tuple[str, ...]:
        return (*self.search_texts, *self.search_ids)  # that there are some is why there is a search box

    def _with_words(self, term: str) -> Q:
        words = Q(pk__in=[])
        for name in self.search_texts:
            words |= Q(**{f"{name}__icontains": term})
        return words


def identifier(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def address_of(one: Any) -> str:
    """The admin's page about a row."""
    return reverse(f"admin:{one._meta.app_label}_{one._meta.model_name}_change", args=[one.pk])
