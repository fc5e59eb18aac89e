"""Filters that ignore nothing: a name with a typo, or a value nobody can read, would otherwise show everything."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.db.models import QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from accounts.models import Tenant
from jobs.api.query_fields import EARLIEST, LATEST, is_comparable
from jobs.terms import LONGEST_TAG, MOST_SOUGHT, InvalidTags, read_tag, words_of

LONGEST_SEARCH = 200  # characters: as long as names are


class StrictBackend(filters.DjangoFilterBackend):
    """Narrows lists down, and nothing but lists. A view says in `also_asked` which further names it reads itself."""

    def filter_queryset(self, request: Request, queryset: QuerySet, view: Any) -> QuerySet:
        filterset = self.get_filterset_class(view, queryset)
        if filterset is None or view.detail:
            return queryset
        repeated = {name for name, one in filterset.base_filters.items() if isinstance(one, TagsFilter)}
        names = [*filterset.base_filters, *_of_pages(view), *getattr(view, "also_asked", ())]
        refuse_unread(request, names, repeated=repeated)
        wanted = self.get_filterset(request, queryset, view)
        if not wanted.is_valid():
            faults = wanted.form.errors.as_data().items()
            raise serializers.ValidationError(
                {name: [text for one in errors for text in one] for name, errors in faults}
            )
        return wanted.qs

    def get_filterset_kwargs(self, request: Request, queryset: QuerySet, view: Any) -> dict[str, Any]:
        kwargs = super().get_filterset_kwargs(request, queryset, view)
        return kwargs | {"tenant": view.tenant} if issubclass(view.filterset_class, TenantFilterSet) else kwargs


class TenantFilterSet(filters.FilterSet):
    """Knows whose list it is: that is what every index begins with."""

    def __init__(self, *args: Any, tenant: Tenant | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tenant = tenant


def refuse_unread(request: Request, names: Iterable[str], *, repeated: Iterable[str] = ()) -> None:
    """Raise a ValidationError for parameters that nobody would read, with the names of those that are."""
    known = dict.fromkeys(names)
    faults = {}
    for name, values in request.query_params.lists():
        if name not in known:
            faults[name[:100]] = [f"is no parameter of this list. Allowed: {', '.join(known)}."]
        elif not all(values):
            faults[name] = ["is empty. Give it a value, or leave it out."]
        elif len(values) > 1 and name not in repeated:
            faults[name] = ["is there more than once. Send it once."]
    if faults:
        raise serializers.ValidationError(faults)


def _of_pages(view: Any) -> list[str]:
    pages = view.paginator
    return [] if pages is None else [pages.cursor_query_param, pages.page_size_query_param]


class _InstantField(forms.Field):
    _reader = serializers.DateTimeField(default_timezone=UTC)

    def to_python(self, value: Any) -> datetime | None:
        if value in self.empty_values:
            return None
        try:
            instant = self._reader.run_validation(value)
        except serializers.ValidationError:
            instant = None
        if instant is None or not is_comparable(instant):
            raise forms.ValidationError(
                f"Invalid timestamp. Use ISO 8601, e.g. 2026-11-20T03:30:00Z, from {EARLIEST.year} to {LATEST.year}; "
                "write a + in an address as %2B."
            )
        return instant


class InstantFilter(filters.IsoDateTimeFilter):
    field_class = _InstantField


class _TagsField(forms.Field):
    widget = forms.SelectMultiple  # which reads all values of one name

    def to_python(self, value: Any) -> list[str]:
        if len(value or []) > MOST_SOUGHT:  # the planner's time grows faster than their square
            raise forms.ValidationError(f"must be {MOST_SOUGHT} tags at most; these are {len(value)}.")
        try:
            return sorted({read_tag(tag) for tag in value or []})
        except InvalidTags as error:
            raise forms.ValidationError(str(error)) from None


@extend_schema_field(
    {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_TAG}, "maxItems": MOST_SOUGHT}
)
class TagsFilter(filters.Filter):
    field_class = _TagsField


class _WordsField(forms.CharField):
    def clean(self, value: Any) -> list[str]:
        text = super().clean(value)
        words = words_of(text)
        if text and not 1 <= len(words) <= MOST_SOUGHT:
            raise forms.ValidationError(f"must have 1 to {MOST_SOUGHT} words; this has {len(words)}.")
        return words


@extend_schema_field(OpenApiTypes.STR)
class WordsFilter(filters.CharFilter):
    field_class = _WordsField
