"""The routes of executions. A view translates: fetch within the tenant, one call, answer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import services
from jobs.api.execution_schema import RetrySerializer, describe_cancel, describe_retry
from jobs.api.filters import ExecutionFilter
from jobs.api.scoped import TenantScoped
from jobs.api.serializers import (
    ExecutionDetailSerializer,
    ExecutionRowSerializer,
    ExecutionSerializer,
)
from jobs.api.strict import validated
from jobs.models import Execution, Job
from jobs.timeline import timeline


class ExecutionsViewSet(mixins.ListModelMixin, TenantScoped):
    queryset = Execution.objects.all()
    serializer_class = ExecutionRowSerializer
    filterset_class = ExecutionFilter

    def get_queryset(self) -> QuerySet[Execution]:
        if getattr(self, "swagger_fake_view", False):
            return Execution.objects.none()
        return super().get_queryset().for_tenant(self.tenant)


@extend_schema_view(
    list=extend_schema(
        operation_id="list_job_executions",
        summary="List a job's executions, latest due time first",
        parameters=[OpenApiParameter("job_id", UUID, OpenApiParameter.PATH)],
    )
)
class JobExecutionsViewSet(ExecutionsViewSet):
    def get_queryset(self) -> QuerySet[Execution]:
        job = get_object_or_404(Job.objects.kept().for_tenant(self.tenant), pk=self.kwargs["job_id"])
        return super().get_queryset().filter(job=job)


@extend_schema_view(
    list=extend_schema(operation_id="list_executions", summary="List executions, latest due time first"),
    retrieve=extend_schema(operation_id="get_execution", summary="Read an execution with its timeline and attempts"),
)
class ExecutionViewSet(mixins.RetrieveModelMixin, ExecutionsViewSet):
    def get_serializer_class(self) -> Any:
        return ExecutionDetailSerializer if self.action == "retrieve" else super().get_serializer_class()

    def get_object(self) -> Execution:
        execution = super().get_object()
        if self.action == "retrieve":
            execution.timeline = timeline(execution)
        return execution

    @describe_cancel
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        return Response(ExecutionSerializer(services.cancel_execution(self.get_object(), actor=request.user)).data)

    @describe_retry
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, pk: str) -> Response:
        asked = validated(RetrySerializer, request.data)
        retried = services.retry_execution(self.get_object(), actor=request.user, **asked)
        return Response(ExecutionSerializer(retried).data)
