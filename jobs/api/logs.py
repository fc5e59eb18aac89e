"""The lines an execution's handler kept, oldest first, to be read page by page or followed while it runs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Q
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api.scoped import TenantScoped
from jobs.models import Execution, LogLine, Progress
from jobs.numbers import read_whole_number
from jobs.states import FINAL

PAGE = 500  # lines: a page of them is about as large as one of executions
BEGINNING = "0.0"
MAX_PLACE = 2**31 - 1  # an attempt or a line, as the database numbers them


class ProgressSerializer(serializers.ModelSerializer):
    class Meta:
        model = Progress
        fields = ["fraction", "message", "attempt", "at"]
        extra_kwargs = {"fraction": {"help_text": "The part that is done, from 0 to 1."}}


class LogLineSerializer(serializers.ModelSerializer):
    class Meta:
        model = LogLine
        fields = ["attempt", "number", "at", "level", "text"]


class LogPageSerializer(serializers.Serializer):
    results = LogLineSerializer(many=True)
    after = serializers.CharField(help_text="Where this page ends: ask for the lines after it, now or in a while.")
    finished = serializers.BooleanField(help_text="Whether these are the last: the execution is over.")


class ExecutionLogsView(TenantScoped):
    @extend_schema(
        operation_id="list_execution_logs",
        summary="Read or follow the lines an execution's handler kept, oldest first",
        description="To follow, ask again with `after` of the last answer until `finished` is true.",
        parameters=[
            OpenApiParameter("execution_id", UUID, OpenApiParameter.PATH),
            OpenApiParameter("after", str, description="The `after` of an earlier answer."),
        ],
        responses=LogPageSerializer,
    )
    def retrieve(self, request: Request, execution_id: str) -> Response:
        after = request.query_params.get("after", BEGINNING)
        attempt, number = _read_place(after)
        executions = Execution.objects.for_tenant(self.tenant).only("status")
        # Asked first: what is over by now has all its lines written.
        over = get_object_or_404(executions, pk=execution_id).status in FINAL
        later = Q(attempt__gt=attempt) | Q(attempt=attempt, number__gt=number)
        lines = list(LogLine.objects.filter(later, execution=execution_id)[: PAGE + 1])
        page: list[Any] = lines[:PAGE]
        answer = {
            "results": page,
            "after": f"{page[-1].attempt}.{page[-1].number}" if page else after,
            "finished": over and len(lines) <= PAGE,
        }
        return Response(LogPageSerializer(answer).data)


def _read_place(after: str) -> tuple[int, int]:
    """The attempt and the line that a page begins after."""
    attempt, _, number = after.partition(".")
    place = read_whole_number(attempt), read_whole_number(number)
    if None in place or max(place) > MAX_PLACE:
        raise serializers.ValidationError({"after": ["Invalid position. Send the `after` of an earlier answer."]})
    return place
