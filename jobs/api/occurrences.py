"""What became of each due time of a window: how it is asked for over the API, and how it is answered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from jobs.api.query_fields import WholeNumberField
from jobs.api.serializers import ScheduleField
from jobs.api.strict import StrictSerializer
from jobs.clock import database_now
from jobs.models import Job
from jobs.occurrences import MOST, list_occurrences
from jobs.outcomes import Missed, Outcome
from jobs.states import Cause, Status, choices
from scheduling.periods import Standing
from scheduling.recurrence.instants import EARLIEST, write_instant

SHOWN = 100
A_DAY = timedelta(days=1)


class OccurrenceOptions(StrictSerializer):
    limit = WholeNumberField(min_value=1, max_value=MOST, default=SHOWN, help_text="Due times an answer.")

    def get_fields(self) -> dict[str, serializers.Field]:
        # `from` is what it is called outside; in Python it is a word of the language.
        start = serializers.DateTimeField(
            required=False, default_timezone=UTC, help_text="Due times from this on; by default, a day before `to`."
        )
        end = serializers.DateTimeField(
            required=False, default_timezone=UTC, help_text="Due times before this; by default, before now."
        )
        return {"from": start, "to": end, **super().get_fields()}


class OccurrenceSerializer(serializers.Serializer):
    due_at = serializers.DateTimeField()
    cause = serializers.ChoiceField(
        choices(Cause), help_text="`schedule` for what a schedule named. The others were asked for by hand."
    )
    outcome = serializers.ChoiceField(
        choices(Outcome),
        help_text="`ran` includes what runs now. `due`: its time has come, and it is about to be recorded. `on_hold`: "
        "it takes place if the job is resumed before. `forgotten`: it may have run, but its history was pruned.",
    )
    missed_because = serializers.ChoiceField(choices(Missed), allow_null=True)
    reason = serializers.CharField(help_text="Why it was skipped, cancelled or missed, in words.")
    execution = serializers.UUIDField(
        allow_null=True, help_text="Of one that was skipped among others: the execution that stands for all of them."
    )
    status = serializers.ChoiceField(choices(Status), allow_null=True, help_text="The execution's.")
    started_at = serializers.DateTimeField(allow_null=True, help_text="When its first attempt began.")
    late_by = serializers.FloatField(allow_null=True, help_text="Seconds from the due time to the first attempt.")


class PeriodSerializer(serializers.Serializer):
    status = serializers.ChoiceField(
        choices(Standing), source="state.standing", help_text="What the job was at the end of this period."
    )
    schedule = ScheduleField(source="state.schedule")

    def get_fields(self) -> dict[str, serializers.Field]:
        times = {"from": serializers.DateTimeField(source="after"), "to": serializers.DateTimeField(source="until")}
        return {**times, **super().get_fields()}


class OccurrencesSerializer(serializers.Serializer):
    next = serializers.URLField(allow_null=True, help_text="The rest of the window; null, if this is all of it.")
    occurrences = OccurrenceSerializer(many=True)
    periods = PeriodSerializer(many=True, help_text="Which schedule the job had when, in the time this answer covers.")


def answer_occurrences(job: Job, request: Request) -> dict[str, Any]:
    """One page of the window that the request asks for."""
    options = OccurrenceOptions(data=request.query_params.dict())
    options.is_valid(raise_exception=True)
    wanted = options.validated_data
    now = database_now()
    end = wanted.get("to", now)
    start = wanted.get("from") or max(end, EARLIEST) - A_DAY
    page = list_occurrences(job, start=start, end=end, now=now, limit=wanted["limit"])
    rest = link_to_window(request.build_absolute_uri(), page.following, end) if page.following else None
    return OccurrencesSerializer(
        {"next": rest, "occurrences": page.occurrences, "periods": page.periods},
    ).data


def link_to_window(address: str, start: datetime, end: datetime) -> str:
    """`address`, asked for the due times from `start` on and before `end`."""
    for name, instant in (("from", start), ("to", end)):
        address = replace_query_param(address, name, write_instant(instant))
    return address
