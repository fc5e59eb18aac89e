"""The routes of jobs. A view translates: fetch within the tenant, one call, answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import bulk_acts, services
from jobs.api.backfill import answer_backfill
from jobs.api.backfill_schema import describe_backfill
from jobs.api.bulk import create_each, read_each, read_items, told
from jobs.api.bulk_acts import ActOnEach, read_ids, told_of_acts
from jobs.api.bulk_acts_schema import describe_bulk_act
from jobs.api.bulk_schema import describe_bulk
from jobs.api.etags import tagged, tagged_unless_known, versions_allowed
from jobs.api.expanding import EXPAND, read_expand, shown
from jobs.api.filters import JobFilter
from jobs.api.job_schema import describe_act, describe_jobs
from jobs.api.keys import FIELD, key_of, once
from jobs.api.long_writes import long_write
from jobs.api.occurrence_schema import describe_occurrences
from jobs.api.occurrences import answer_occurrences
from jobs.api.parsing import BoundedJSONParser
from jobs.api.problem_schema import problems
from jobs.api.schedules import PreviewOptions, PreviewSerializer, previewed
from jobs.api.scoped import TenantScoped
from jobs.api.serializers import (
    JOB,
    JOB_ROW,
    NEW_JOB,
    ExecutionSerializer,
    JobSerializer,
    ResumedJobSerializer,
)
from jobs.clock import database_now
from jobs.idempotency import Made
from jobs.models import Job
from scheduling.upcoming import stored


@describe_jobs
class JobViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.CreateModelMixin, TenantScoped):
    queryset = Job.objects.kept().select_related("owner")
    serializer_class = JobSerializer
    filterset_class = JobFilter
    also_asked = [EXPAND]
    http_method_names = ["get", "post", "patch", "delete", "head", "options"]

    def get_queryset(self) -> QuerySet[Job]:
        if getattr(self, "swagger_fake_view", False):
            return Job.objects.none()
        return super().get_queryset().for_tenant(self.tenant)

    def list(self, request: Request) -> Response:
        wanted = read_expand(request)
        jobs = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(shown(jobs, wanted, JOB_ROW))

    def retrieve(self, request: Request, pk: str) -> Response:
        wanted = read_expand(request)
        job = self.get_object()
        [as_shown] = shown([job], wanted, JOB)
        return tagged_unless_known(job, as_shown, request)

    def create(self, request: Request) -> Response:
        values = NEW_JOB.read(request.data)
        key = key_of(request, values.pop(FIELD, None))

        def make() -> list[Job]:
            return [services.create_job(services.NewJob(**values), tenant=self.tenant, actor=request.user)]

        made, headers = once(key, "create_job", request.data, tenant=self.tenant, make=make)
        return tagged(made[0], JOB.to_representation(made[0]), status.HTTP_201_CREATED, headers)

    @describe_bulk
    @action(detail=False, methods=["post"], parser_classes=[BoundedJSONParser])
    def bulk(self, request: Request) -> Response:
        items, in_body = read_items(request.data)
        key = key_of(request, in_body)
        read = read_each(items, tenant=self.tenant, actor=request.user)

        def make() -> Sequence[Made]:
            return create_each(read)

        with long_write():
            made, headers = once(key, "create_jobs", request.data, tenant=self.tenant, make=make)
        return Response(told(made), headers=headers)

    @describe_bulk_act("pause", "Pause")
    @action(detail=False, methods=["post"], url_path="bulk/pause")
    def bulk_pause(self, request: Request) -> Response:
        return self._act_on_each(request, bulk_acts.pause_jobs)

    @describe_bulk_act("resume", "Resume")
    @action(detail=False, methods=["post"], url_path="bulk/resume")
    def bulk_resume(self, request: Request) -> Response:
        return self._act_on_each(request, bulk_acts.resume_jobs)

    @describe_bulk_act("cancel", "Cancel")
    @action(detail=False, methods=["post"], url_path="bulk/cancel")
    def bulk_cancel(self, request: Request) -> Response:
        return self._act_on_each(request, bulk_acts.cancel_jobs)

    @describe_bulk_act("delete", "Delete")
    @action(detail=False, methods=["post"], url_path="bulk/delete")
    def bulk_delete(self, request: Request) -> Response:
        return self._act_on_each(request, bulk_acts.delete_jobs)

    def partial_update(self, request: Request, pk: str) -> Response:
        job = self.get_object()
        serializer = self.get_serializer(job, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        changes, versions = dict(serializer.validated_data), versions_allowed(request)
        return self._answer(services.update_job(job, changes, actor=request.user, versions=versions))

    def destroy(self, request: Request, pk: str) -> Response:
        services.delete_job(self.get_object(), actor=request.user, versions=versions_allowed(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @describe_act("pause_job", "Make no more executions until resumed")
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        return self._answer(services.pause_job(self.get_object(), actor=request.user))

    @describe_act("resume_job", "Go on with the next due time from now; says what was missed", ResumedJobSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        resumed = services.resume_job(self.get_object(), actor=request.user)
        return tagged(resumed.job, ResumedJobSerializer(resumed).data)

    @describe_act("cancel_job", "End a job for good and cancel what waits")
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        return self._answer(services.cancel_job(self.get_object(), actor=request.user))

    @extend_schema(
        operation_id="run_job",
        summary="Run a job now, without disturbing its schedule",
        request=None,
        responses={202: ExecutionSerializer, **problems(401, 403, 404, 409)},
    )
    @action(detail=True, methods=["post"])
    def run(self, request: Request, pk: str) -> Response:
        execution = services.run_job_now(self.get_object(), actor=request.user)
        return Response(ExecutionSerializer(execution).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="preview_job",
        summary="Show when a job runs next; if it is paused, when it would",
        parameters=[PreviewOptions],
        responses={200: PreviewSerializer, **problems(400, 401, 403, 404)},
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

    def _answer(self, job: Job) -> Response:
        return tagged(job, JOB.to_representation(job))

    def _act_on_each(self, request: Request, act: ActOnEach) -> Response:
        ids = read_ids(request.data)
        with long_write():
            outcomes = act(ids, tenant=self.tenant, actor=request.user)
        return Response(told_of_acts(ids, outcomes))
