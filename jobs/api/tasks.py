"""The routes of tasks: what can be run, and what each of them wants."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    extend_schema,
    extend_schema_serializer,
    extend_schema_view,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from execution.defaults import default_limits
from execution.registry import Task, UnknownTask, registry
from jobs.api.problem_schema import problems
from jobs.api.problems import problem
from jobs.api.scoped import TenantScoped
from jobs.limits import combined

EXAMPLE = {
    "name": "send_email",
    "description": "Send the mail through the configured server.",
    "payload_schema": {
        "type": "object",
        "properties": {"to": {"type": "string"}, "subject": {"type": "string"}, "body": {"type": "string"}},
        "required": ["to", "subject", "body"],
        "additionalProperties": False,
    },
    "secrets": [],
    "isolated": False,
    "defaults": {"max_retries": 3, "retry_delay": 2.0, "retry_delay_cap": 3600.0, "time_limit": 600.0, "lease": 15.0},
}


class DefaultsSerializer(serializers.Serializer):
    max_retries = serializers.IntegerField()
    retry_delay = serializers.FloatField(help_text="Seconds before the first retry.")
    retry_delay_cap = serializers.FloatField(help_text="Seconds before any retry, at most.")
    time_limit = serializers.FloatField(help_text="Seconds that an attempt may take.")
    lease = serializers.FloatField(help_text="Seconds after which a silent worker is taken for lost.")


class TaskSerializer(serializers.Serializer):
    name = serializers.CharField()
    description = serializers.CharField(help_text="What it does, in the words of who wrote it.")
    payload_schema = serializers.DictField(help_text="JSON Schema that a job's payload has to fit.")
    secrets = serializers.ListField(
        child=serializers.CharField(),
        help_text="Members of its payload that are sealed and never shown, besides those called password, token and so "
        "on. Told in lower case and without separators.",
    )
    isolated = serializers.BooleanField(help_text="Whether each attempt has a process of its own.")
    defaults = DefaultsSerializer(help_text="What holds for jobs that do not say otherwise.")


@extend_schema_serializer(many=False)
class TasksSerializer(serializers.Serializer):
    results = TaskSerializer(many=True)


@extend_schema_view(
    list=extend_schema(
        operation_id="list_tasks",
        summary="List what can be run",
        responses={200: TasksSerializer, **problems(401, 403)},
        examples=[OpenApiExample("One task", value={"results": [EXAMPLE]}, response_only=True, status_codes=["200"])],
    ),
    retrieve=extend_schema(
        operation_id="get_task",
        summary="Read what a task wants of its payload",
        parameters=[OpenApiParameter("name", str, OpenApiParameter.PATH)],
        responses={200: TaskSerializer, **problems(401, 403, 404)},
        examples=[OpenApiExample("A task", value=EXAMPLE, response_only=True, status_codes=["200"])],
    ),
)
class TaskViewSet(TenantScoped):
    serializer_class = TaskSerializer
    pagination_class = None
    filter_backends = []
    lookup_field = "name"

    def list(self, request: Request) -> Response:
        return Response({"results": [_told(registry.get(name)) for name in registry.names()]})

    def retrieve(self, request: Request, name: str) -> Response:
        try:
            return Response(_told(registry.get(name)))
        except UnknownTask as error:
            return problem(404, str(error))


def _told(task: Task) -> dict[str, Any]:
    limits = combined(task.limits, default_limits())
    return {
        "name": task.name,
        "description": task.description,
        "payload_schema": task.payload_schema,
        "secrets": sorted(task.secrets),
        "isolated": task.isolated,
        "defaults": {name: _seconds(value) for name, value in limits._asdict().items()},
    }


def _seconds(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value
