"""The destinations that a tenant's work has met in trouble. Those of others are not told, and none that are well."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers

from execution.models import Destination
from jobs.api.problem_schema import problems
from jobs.api.scoped import TenantScoped


class DestinationSerializer(serializers.ModelSerializer):
    name = serializers.CharField(source="title")
    state = serializers.ChoiceField(
        Destination.State.choices,
        help_text="troubled: it has failed, but work goes on. down: work for it waits, and its retries are kept. "
        "recovering: it has answered, and what waited is let go at a growing pace.",
    )
    failures = serializers.IntegerField(help_text="In a row.")
    error = serializers.CharField(help_text="What kind of failure the latest was.")
    since = serializers.DateTimeField(help_text="When the first of these failures was.")
    probe_at = serializers.SerializerMethodField(help_text="While it is down: when it is tried next.")

    class Meta:
        model = Destination
        fields = ["name", "state", "failures", "error", "since", "probe_at"]

    def get_probe_at(self, row: Destination) -> serializers.DateTimeField(allow_null=True):  # type: ignore[valid-type]
        return row.probe_at if row.is_down else None


@extend_schema_view(
    list=extend_schema(
        operation_id="list_destinations",
        summary="List the destinations in trouble that your work has met",
        responses={200: DestinationSerializer(many=True), **problems(401, 403)},
    )
)
class DestinationViewSet(mixins.ListModelMixin, TenantScoped):
    queryset = Destination.objects.all()
    serializer_class = DestinationSerializer
    pagination_class = None  # one that is well again leaves the list
    filter_backends: list = []

    def get_queryset(self) -> QuerySet[Destination]:
        if getattr(self, "swagger_fake_view", False):
            return Destination.objects.none()
        return super().get_queryset().met_by(self.tenant)
