"""What lists can be narrowed down by. How each is found, and by which index, is the querysets' to know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema_field

from accounts.models import User
from jobs.api.filtering import LONGEST_SEARCH, InstantFilter, TagsFilter, TenantFilterSet, WordsFilter
from jobs.models.execution import ExecutionQuerySet
from jobs.models.job import JobQuerySet
from jobs.states import Cause, JobStatus, Priority, Status
from jobs.terms import MOST_SOUGHT

PRIORITIES = [priority.name.lower() for priority in Priority]
LONGEST_TASK = 100  # characters
LONGEST_USERNAME = 150
MANY_TAGS = "Repeat it to ask for jobs that have all of several."


@extend_schema_field({"type": "string", "enum": PRIORITIES})
class PriorityFilter(filters.TypedChoiceFilter):
    def __init__(self) -> None:
        super().__init__(
            choices=[(name, name) for name in PRIORITIES],
            coerce=lambda name: Priority[name.upper()],
            empty_value=None,
            help_text="How urgent.",
        )


def choice(names: Sequence[str], **more: Any) -> filters.ChoiceFilter:
    offered = filters.ChoiceFilter(choices=[(name, name) for name in names], **more)
    return extend_schema_field({"type": "string", "enum": list(names)})(offered)


def _text(longest: int, help_text: str) -> filters.CharFilter:
    return extend_schema_field({"type": "string", "minLength": 1, "maxLength": longest})(
        filters.CharFilter(max_length=longest, help_text=help_text)
    )


class JobFilter(TenantFilterSet):
    status = choice([one.value for one in JobStatus])
    task = _text(LONGEST_TASK, "The task's whole name.")
    tag = TagsFilter(help_text=f"One of the job's tags. {MANY_TAGS}")
    name = WordsFilter(
        max_length=LONGEST_SEARCH,
        help_text=f"Words of the name, {MOST_SOUGHT} at most, or how they begin: `week rep` finds `Weekly report`, "
        "`port` does not. Accents and capitals make no difference.",
    )
    user = _text(LONGEST_USERNAME, "The user name of the owner.")
    priority = PriorityFilter()
    created_after = InstantFilter(help_text="Created at this time or later.")
    created_before = InstantFilter(help_text="Created before this time.")
    start_time = InstantFilter(help_text="The next run is due at this time or later.")
    end_time = InstantFilter(help_text="The next run is due before this time.")

    def filter_queryset(self, queryset: JobQuerySet) -> JobQuerySet:
        wanted = {name: value for name, value in self.form.cleaned_data.items() if value}
        if "status" in wanted:
            queryset = queryset.standing(wanted["status"])
        if "tag" in wanted:
            queryset = queryset.tagged(self.tenant, wanted["tag"])
        if "name" in wanted:
            queryset = queryset.called(self.tenant, wanted["name"])
        if not wanted.keys().isdisjoint(("task", "priority", "user")):
            owner = User.objects.filter(username=wanted["user"]).first() if "user" in wanted else None
            if owner is None and "user" in wanted:
                return queryset.none()
            queryset = queryset.of_kind(
                self.tenant, task=wanted.get("task"), priority=wanted.get("priority"), owner=owner
            )
        if not wanted.keys().isdisjoint(("start_time", "end_time")):
            queryset = queryset.next_between(wanted.get("start_time"), wanted.get("end_time"))
        return queryset.created_between(wanted.get("created_after"), wanted.get("created_before"))


class ExecutionFilter(TenantFilterSet):
    status = choice([one.value for one in Status])
    task = _text(LONGEST_TASK, "The task's whole name.")
    job = filters.UUIDFilter(help_text="Those of one job, also of one that was deleted.")
    tag = TagsFilter(help_text=f"One of the tags that the job has now. {MANY_TAGS}")
    cause = choice([one.value for one in Cause])
    priority = PriorityFilter()
    start_time = InstantFilter(help_text="Due at this time or later.")
    end_time = InstantFilter(help_text="Due before this time.")

    def filter_queryset(self, queryset: ExecutionQuerySet) -> ExecutionQuerySet:
        wanted = {name: value for name, value in self.form.cleaned_data.items() if value}
        if "status" in wanted:
            queryset = queryset.standing(wanted["status"])
        if "cause" in wanted:
            queryset = queryset.caused_by(wanted["cause"])
        if "job" in wanted:
            queryset = queryset.filter(job=wanted["job"])
        queryset = queryset.due_between(wanted.get("start_time"), wanted.get("end_time"))
        tags, kind = wanted.get("tag", ()), {name: wanted[name] for name in ("task", "priority") if name in wanted}
        if not tags and not kind:
            return queryset
        return queryset.of_kind(self.tenant, **kind, tags=tags)
