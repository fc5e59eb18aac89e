"""What a schedule means, before anybody relies on it: in words, and as its next runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.api.query_fields import WholeNumberField
from jobs.api.serializers import ScheduleField
from jobs.api.strict import StrictSerializer
from jobs.clock import database_now
from scheduling.recurrence import Recurrence, describe, preview
from scheduling.upcoming import read_unsaved

MOST_SHOWN = 100  # runs: more than anybody reads, and a fraction of a second to reckon
SHOWN = 10


class PreviewOptions(StrictSerializer):
    count = WholeNumberField(min_value=1, max_value=MOST_SHOWN, default=SHOWN)

    def get_fields(self) -> dict[str, serializers.Field]:
        # `from` is what it is called outside; in Python it is a word of the language.
        earliest = serializers.DateTimeField(required=False, help_text="The runs after this; by default, after now.")
        return {**super().get_fields(), "from": earliest}


class PreviewRequest(PreviewOptions):
    schedule = ScheduleField()


class PreviewedRunSerializer(serializers.Serializer):
    at = serializers.DateTimeField(help_text="When it is due.")
    local = serializers.CharField(help_text="What the clocks of the schedule's zone show then, with their offset.")
    note = serializers.CharField(help_text="What a change of the clocks does to it; empty on most days.")


class PreviewSerializer(serializers.Serializer):
    description = serializers.CharField(help_text="The schedule in words.")
    runs = PreviewedRunSerializer(many=True)


class SchedulePreviewView(APIView):
    @extend_schema(
        operation_id="preview_schedule",
        summary="Explain a schedule and show its next runs, without saving anything",
        request=PreviewRequest,
        responses=PreviewSerializer,
    )
    def post(self, request: Request) -> Response:
        wanted = PreviewRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        now = database_now()
        schedule = read_unsaved(wanted.validated_data["schedule"], now=now)
        return Response(previewed(schedule, now, wanted.validated_data))


def previewed(schedule: Recurrence, now: datetime, options: dict[str, Any], *, runs_so_far: int = 0) -> dict[str, Any]:
    """The answer of both routes: of a schedule that is not saved, and of a job's."""
    runs = preview(
        schedule, after=options.get("from") or _before(schedule, now), count=options["count"], runs_so_far=runs_so_far
    )
    shown = [{"at": run.at, "local": run.local.isoformat(), "note": run.note} for run in runs]
    return PreviewSerializer({"description": describe(schedule), "runs": shown}).data


def _before(schedule: Recurrence, now: datetime) -> datetime:
    """An instant that all runs to come are after: also one that is due this very moment."""
    first = schedule.first_run(now)
    return now if first is None or first > now else first - datetime.resolution
