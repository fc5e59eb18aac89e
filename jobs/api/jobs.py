"""The routes of jobs. A view translates: fetch within the tenant, one call, answer."""

from __future__ import annotations

import json

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import services
from jobs.api.backfill import answer_backfill
from jobs.api.backfill_schema import describe_backfill
from jobs.api.bulk import create_each, read_items
from jobs.api.bulk_schema import describe_bulk
from jobs.api.filters import JobFilter
from jobs.api.occurrence_schema import describe_occurrences
from jobs.api.occurrences import answer_occurrences
from jobs.api.parsing import BoundedJSONParser
from jobs.api.schedules import PreviewOptions, PreviewSerializer, previewed
from jobs.api.scoped import TenantScoped
from jobs.api.serializers import (
    JOB,
    ExecutionSerializer,
    JobSerializer,
    ResumedJobSerializer,
)
from jobs.clock import database_now
from jobs.models import Job
from scheduling.upcoming import stored


@extend_schema_view(
    list=extend_schema(operation_id="list_jobs", summary="List jobs, newest first"),
    create=extend_schema(operation_id="create_job", summary="Create a job"),
    retrieve=extend_schema(operation_id="get_job", summary="Read a job"),
    partial_update=extend_schema(operation_id="update_job", summary="Change a job from its next due time on"),
    destroy=extend_schema(operation_id="delete_job", summary="Delete a job; its history stays"),
)
class JobViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.CreateModelMixin, TenantScoped):
    queryset = Job.objects.kept().select_related("owner")
    serializer_class = JobSerializer
    filterset_class = JobFilter
    http_method_names = ["get", "post", "patch", "delete", "head", "options"]

    def get_queryset(self) -> QuerySet[Job]:
        if getattr(self, "swagger_fake_view", False):
            return Job.objects.none()
        return super().get_queryset().for_tenant(self.tenant)

    def create(self, request: Request) -> Response:
        wanted = services.NewJob(**JOB.read(request.data))
        job = services.create_job(wanted, tenant=self.tenant, actor=request.user)
        return self._answer(job, status.HTTP_201_CREATED)

    @describe_bulk
    @action(detail=False, methods=["post"], parser_classes=[BoundedJSONParser])
    def bulk(self, request: Request) -> Response:
        return Response(create_each(read_items(request.data), tenant=self.tenant, actor=request.user))

    def partial_update(self, request: Request, pk: str) -> Response:
        job = self.get_object()
        serializer = self.get_serializer(job, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        return self._answer(services.update_job(job, dict(serializer.validated_data), actor=request.user))

    def destroy(self, request: Request, pk: str) -> Response:
        services.delete_job(self.get_object(), actor=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(operation_id="pause_job", summary="Make no more executions until resumed", request=None)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        return self._answer(services.pause_job(self.get_object(), actor=request.user))

    @extend_schema(
        operation_id="resume_job",
        summary="Go on with the next due time from now; says what was missed",
        request=None,
        responses=ResumedJobSerializer,
    )
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        resumed = services.resume_job(self.get_object(), actor=request.user)
        return Response(ResumedJobSerializer(resumed).data)

    @extend_schema(operation_id="cancel_job", summary="End a job for good and cancel what waits", request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        return self._answer(services.cancel_job(self.get_object(), actor=request.user))

    @extend_schema(
        operation_id="run_job",
        summary="Run a job now, without disturbing its schedule",
        request=None,
        responses={202: ExecutionSerializer},
    )
    @action(detail=True, methods=["post"])
    def run(self, request: Request, pk: str) -> Response:
        execution = services.run_job_now(self.get_object(), actor=request.user)
        return Response(ExecutionSerializer(execution).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="preview_job",
        summary="Show when a job runs next; if it is paused, when it would",
        parameters=[PreviewOptions],
        responses=PreviewSerializer,
    )
    @action(detail=True, methods=["get"], pagination_class=None, filterset_class=None)
    def preview(self, request: Request, pk: str) -> Response:
        job = self.get_object()
        options = PreviewOptions(data=request.query_params.dict())
        options.is_valid(raise_exception=True)
        schedule = stored(json.dumps(job.schedule), job.id)
        return Response(previewed(schedule, database_now(), options.validated_data, runs_so_far=job.runs))

    @describe_occurrences
    @action(detail=True, methods=["get"], pagination_class=None, filterset_class=None)
    def occurrences(self, request: Request, pk: str) -> Response:
        return Response(answer_occurrences(self.get_object(), request))

    @describe_backfill
    @action(detail=True, methods=["post"])
    def backfill(self, request: Request, pk: str) -> Response:
        return answer_backfill(self.get_object(), request)

    def _answer(self, job: Job, code: int = status.HTTP_200_OK) -> Response:
        return Response(JOB.to_representation(job), status=code)
