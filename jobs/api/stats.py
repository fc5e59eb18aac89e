"""What the dashboard shows, as numbers: what runs and waits, what became of the last runs, who works, what is next."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api.scoped import TenantScoped
from jobs.api.strict import StrictSerializer
from jobs.states import Status, choices
from jobs.stats.buckets import Bucket
from jobs.stats.percentiles import percentiles
from jobs.stats.snapshot import snapshots
from jobs.stats.spans import HOUR, SPANS


class StatsOptions(StrictSerializer):
    span = serializers.ChoiceField(
        [(span.key, span.label) for span in SPANS.values()], default=HOUR.key, help_text="How far to look back."
    )


class PercentilesSerializer(serializers.Serializer):
    p50 = serializers.FloatField()
    p95 = serializers.FloatField()
    p99 = serializers.FloatField()


class BucketSerializer(serializers.Serializer):
    start = serializers.DateTimeField(help_text="Executions that were due from this on, until the next bucket.")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="How many are in which status now.")
    estimated = serializers.BooleanField(help_text="Whether there were too many to look at each.")
    lateness = PercentilesSerializer(allow_null=True)
    duration = PercentilesSerializer(allow_null=True)

    def to_representation(self, bucket: Bucket) -> dict[str, Any]:
        return {
            "start": bucket.start,
            "counts": {status.value: count for status, count in bucket.counts.items()},
            "estimated": bucket.estimated,
            "lateness": _named(percentiles(bucket.lateness)),
            "duration": _named(percentiles(bucket.durations)),
        }


class QueueSerializer(serializers.Serializer):
    task = serializers.CharField()
    waiting = serializers.IntegerField()
    retrying = serializers.IntegerField(help_text="Between two attempts.")
    running = serializers.IntegerField()


class WorkerSerializer(serializers.Serializer):
    role = serializers.CharField(help_text="poller, executor, recoverer or watcher.")
    name = serializers.CharField()
    version = serializers.CharField()
    since = serializers.DateTimeField()
    holding = serializers.IntegerField(help_text="Executions of yours that it runs.")
    room = serializers.IntegerField(help_text="How many it can run at once.")
    stuck = serializers.BooleanField(help_text="Whether its loop has been in one round for more than a minute.")
    tasks = serializers.ListField(child=serializers.CharField())


class NextRunSerializer(serializers.Serializer):
    job = serializers.UUIDField(source="id")
    name = serializers.CharField()
    task = serializers.CharField()
    at = serializers.DateTimeField(source="next_run_at")


class FailureSerializer(serializers.Serializer):
    execution = serializers.UUIDField()
    job = serializers.UUIDField()
    name = serializers.CharField()
    task = serializers.CharField()
    status = serializers.ChoiceField(choices(Status), help_text="Of the execution, now.")
    attempt = serializers.IntegerField()
    error = serializers.CharField()
    at = serializers.DateTimeField()


class StatsSerializer(serializers.Serializer):
    at = serializers.DateTimeField()
    span = serializers.CharField(source="span.key")
    running = serializers.IntegerField(source="unfinished.running")
    waiting = serializers.IntegerField(source="unfinished.waiting", help_text="For a worker.")
    retrying = serializers.IntegerField(source="unfinished.retrying", help_text="Between two attempts.")
    at_least = serializers.BooleanField(
        source="unfinished.more", help_text="Whether there is more that runs or waits than was looked at."
    )
    completed_last_hour = serializers.IntegerField()
    failed_last_hour = serializers.IntegerField()
    estimated = serializers.BooleanField(help_text="Whether those two are.")
    dead_letters = serializers.IntegerField(source="dead", help_text="Counted up to 1,000.")
    lateness = PercentilesSerializer(allow_null=True, help_text="Seconds from due time to start, over the span.")
    duration = PercentilesSerializer(allow_null=True, help_text="Seconds that completed runs took, over the span.")
    buckets = BucketSerializer(many=True)
    queues = QueueSerializer(source="unfinished.lines", many=True)
    workers = WorkerSerializer(many=True)
    next_runs = NextRunSerializer(many=True)
    failures = FailureSerializer(many=True, help_text="The latest attempts that failed.")


class StatsView(TenantScoped):
    pagination_class = None

    @extend_schema(
        operation_id="get_stats",
        summary="Show what runs, what waits, what became of the last runs, and what is next",
        description="One reading a second is shared by all who ask, so polling it costs next to nothing.",
        parameters=[StatsOptions],
        responses=StatsSerializer,
    )
    def retrieve(self, request: Request) -> Response:
        options = StatsOptions(data=request.query_params.dict())
        options.is_valid(raise_exception=True)
        return Response(StatsSerializer(snapshots.of(self.tenant, SPANS[options.validated_data["span"]])).data)


def _named(of: Any) -> dict[str, float] | None:
    return None if of is None else of._asdict()
