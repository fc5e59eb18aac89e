"""How busy the coming hours will be, and what would spread them."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api.query_fields import WholeNumberField
from jobs.api.scoped import TenantScoped
from jobs.api.strict import StrictSerializer
from jobs.stats.load import TooSoon, reports
from scheduling.load import MOST_HOURS


class LoadOptions(StrictSerializer):
    hours = WholeNumberField(min_value=1, max_value=MOST_HOURS, default=24, help_text="How far to look ahead.")


class LoadedHourSerializer(serializers.Serializer):
    at = serializers.DateTimeField()
    executions = serializers.IntegerField()
    busiest = serializers.IntegerField(help_text="Executions that start in its worst minute.")


class WrittenSerializer(serializers.Serializer):
    type = serializers.CharField()
    text = serializers.CharField(help_text="The expression, or the seconds of an interval.")
    timezone = serializers.CharField()
    jitter = serializers.IntegerField()


class NamedJobSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField()


class LoadPartSerializer(serializers.Serializer):
    schedule = WrittenSerializer(source="written")
    executions = serializers.IntegerField()
    examples = NamedJobSerializer(many=True, help_text="Some of the jobs.")


class WorstMinuteSerializer(serializers.Serializer):
    at = serializers.DateTimeField()
    executions = serializers.IntegerField()
    parts = LoadPartSerializer(many=True, help_text="The schedules that make it worse than others.")
    others = serializers.IntegerField(help_text="Executions of schedules that are not named.")
    alike = serializers.ListField(
        child=serializers.DateTimeField(), help_text="Other minutes, of the busiest, made up of the same schedules."
    )


class LoadAdviceSerializer(serializers.Serializer):
    schedule = WrittenSerializer(source="written")
    jobs = serializers.IntegerField()
    together = serializers.IntegerField(help_text="How many of them start in their worst minute.")
    change = serializers.DictField(help_text="The keys of the schedule to change, with their new values.")
    then = serializers.IntegerField(help_text="How many would start in their worst minute.")
    text = serializers.CharField(source="__str__", help_text="The same as a sentence.")


class LoadSerializer(serializers.Serializer):
    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    jobs = serializers.IntegerField(help_text="Jobs that start at least once.")
    executions = serializers.IntegerField()
    typical = serializers.IntegerField(help_text="Executions that start in the median minute.")
    busiest = serializers.IntegerField(help_text="Executions that start in the worst minute.")
    hours = LoadedHourSerializer(many=True)
    worst = WorstMinuteSerializer(many=True)
    advice = LoadAdviceSerializer(many=True)
    busiest_then = serializers.IntegerField(help_text="What the worst minute would be with all advice followed.")
    estimated = serializers.IntegerField(help_text="Jobs whose starts are spread evenly instead of being counted.")
    left_out = serializers.IntegerField(help_text="Jobs in none of these numbers: too many to count, or unreadable.")


class ScheduleLoadView(TenantScoped):
    pagination_class = None

    @extend_schema(
        operation_id="schedule_load",
        summary="Show how many executions the coming hours start, the worst minutes and what would spread them",
        description="The work on an answer is bounded: `estimated` and `left_out` say how many jobs are not counted. "
        "An answer is shared by all who ask for it, for up to a minute. One that took long is followed by a pause in "
        "which other `hours` are a 429.",
        parameters=[LoadOptions],
        responses=LoadSerializer,
    )
    def retrieve(self, request: Request) -> Response:
        options = LoadOptions(data=request.query_params.dict())
        options.is_valid(raise_exception=True)
        try:
            report = reports.of(self.tenant, options.validated_data["hours"])
        except TooSoon as error:
            raise Throttled(wait=error.again_in, detail=str(error)) from None
        return Response(LoadSerializer(report).data)
