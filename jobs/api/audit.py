"""The route of the audit trail: who did what to which job, with what it looked like before and after."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers

from jobs.api.pagination import NewestFirst
from jobs.api.problem_schema import problems
from jobs.api.scoped import TenantScoped
from jobs.api.serializers import OmittedField, Whole
from jobs.api.strict import validated
from jobs.models import AuditEvent
from jobs.numbers import WHOLE_NUMBER

EXAMPLE = {
    "id": 4711,
    "at": "2026-11-16T08:46:55.240949Z",
    "actor": "dora",
    "action": "pause",
    "job": "01a1e389-b509-7876-bc9a-f4107a1b7fb7",
    "before": {"name": "Report", "status": "ACTIVE", "next_run_at": "2026-11-20T03:30:00+00:00"},
    "after": {"name": "Report", "status": "PAUSED", "next_run_at": None},
    "omitted": [],
}


@extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
class SnapshotField(serializers.JSONField):
    """A job as it was then, or nothing."""


class LatestFirst(NewestFirst):
    """By time: what happened in a window is then found by an index, whoever it happened to."""

    ordering = ("-at", "-id")
    unique = False

    def read_position(self, position: str) -> datetime:
        return self.read_instant(position)


class AuditOptions(serializers.Serializer):
    job = serializers.UUIDField(required=False, help_text="What was done to this job.")
    actor = serializers.CharField(required=False, max_length=150, help_text="The name of who did it.")
    action = serializers.CharField(required=False, max_length=40, help_text="Such as create, update, pause, replay.")
    start_time = serializers.DateTimeField(required=False, default_timezone=UTC, help_text="From this on …")
    end_time = serializers.DateTimeField(required=False, default_timezone=UTC, help_text="… and before this.")


LOOKUPS = {"actor": "actor__username", "start_time": "at__gte", "end_time": "at__lt"}


class AuditEventSerializer(serializers.ModelSerializer):
    actor = serializers.CharField(
        source="actor.username", default=None, allow_null=True, help_text="Null for the system, and for who is gone."
    )
    job = serializers.UUIDField(
        source="job_id",
        allow_null=True,
        help_text="Null where it was done to something else, such as an alert of all jobs.",
    )
    before = SnapshotField(help_text="The job or alert before. Null where it was not there yet.")
    after = SnapshotField(help_text="The same after. Secrets are hidden in both.")

    class Meta:
        model = AuditEvent
        fields = ["id", "at", "actor", "action", "job", "before", "after"]


@extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
class ListedSnapshotField(Whole, SnapshotField):
    """A snapshot in a list."""


class AuditRowSerializer(AuditEventSerializer):
    """An event among others."""

    before = ListedSnapshotField(
        help_text="The job or alert before. Null if it did not exist yet, or is too long for a list."
    )
    after = ListedSnapshotField(help_text="The same after. Secrets are hidden in both.")
    omitted = OmittedField("Read the event by itself for them.")

    class Meta(AuditEventSerializer.Meta):
        fields = [*AuditEventSerializer.Meta.fields, "omitted"]


@extend_schema_view(
    list=extend_schema(
        operation_id="list_audit_events",
        summary="List who did what to which job, latest first",
        description="An event is written in the transaction of the act, over the API and in the admin alike.",
        parameters=[AuditOptions],
        responses={200: AuditRowSerializer(many=True), **problems(400, 401, 403, 404)},
        examples=[OpenApiExample("A pause", value=EXAMPLE, response_only=True, status_codes=["200"])],
    ),
    retrieve=extend_schema(
        operation_id="get_audit_event",
        summary="Read one event, with the whole of what it changed",
        responses={200: AuditEventSerializer, **problems(401, 403, 404)},
    ),
)
class AuditViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, TenantScoped):
    queryset = AuditEvent.objects.select_related("actor")
    serializer_class = AuditRowSerializer
    lookup_value_regex = WHOLE_NUMBER
    filter_backends = []
    pagination_class = LatestFirst

    def get_queryset(self) -> QuerySet[AuditEvent]:
        if getattr(self, "swagger_fake_view", False):
            return AuditEvent.objects.none()
        asked = validated(AuditOptions, self.request.query_params.dict()) if self.action == "list" else {}
        return (
            super()
            .get_queryset()
            .filter(tenant=self.tenant, **{LOOKUPS.get(name, name): value for name, value in asked.items()})
        )

    def get_serializer_class(self) -> type[serializers.Serializer]:
        return AuditEventSerializer if self.action == "retrieve" else AuditRowSerializer
