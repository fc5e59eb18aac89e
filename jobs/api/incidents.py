"""The routes of incidents: what is or was wrong with a tenant's jobs. What is wrong with the system is not told."""

from __future__ import annotations

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins

from jobs.alerts.kinds import OF_A_JOB
from jobs.api.alert_serializers import IncidentSerializer
from jobs.api.filters import choice
from jobs.api.problem_schema import problems
from jobs.api.scoped import TenantScoped
from jobs.models import Incident
from jobs.models.incident import IncidentQuerySet


class IncidentFilter(filters.FilterSet):
    kind = choice([kind.value for kind in OF_A_JOB])
    job = filters.UUIDFilter(help_text="Those of one job.")
    open = choice(["true", "false"], method="only_open", help_text="Those that are not over; false: those that are.")

    def only_open(self, queryset: IncidentQuerySet, name: str, value: str) -> IncidentQuerySet:
        return queryset.open() if value == "true" else queryset.over()


@extend_schema_view(
    list=extend_schema(
        operation_id="list_incidents",
        summary="List what is or was wrong with your jobs, newest first",
        description="Watchers write these down, whether or not an alert rule asks to be told.",
        responses={200: IncidentSerializer(many=True), **problems(400, 401, 403)},
    ),
    retrieve=extend_schema(
        operation_id="get_incident",
        summary="Read one incident",
        responses={200: IncidentSerializer, **problems(401, 403, 404)},
    ),
)
class IncidentViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, TenantScoped):
    queryset = Incident.objects.all()
    serializer_class = IncidentSerializer
    filterset_class = IncidentFilter

    def get_queryset(self) -> QuerySet[Incident]:
        if getattr(self, "swagger_fake_view", False):
            return Incident.objects.none()
        return super().get_queryset().for_tenant(self.tenant)
