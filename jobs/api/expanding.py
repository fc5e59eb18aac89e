"""What a client may have shown with a job, so that it need not ask once for each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from jobs.api.serializers import ExecutionRowSerializer, JobSerializer
from jobs.models import Execution, Job

EXPAND = "expand"
LAST_EXECUTION = "last_execution"
PARAMETER = OpenApiParameter(
    EXPAND,
    str,
    enum=[LAST_EXECUTION],
    description="What to show with each job: `last_execution`, that of its latest due time.",
)


def read_expand(request: Request) -> list[str]:
    """What the request wants to be shown besides."""
    wanted = request.query_params.getlist(EXPAND)
    if any(name != LAST_EXECUTION for name in wanted):
        raise ValidationError({EXPAND: [f"can be {LAST_EXECUTION}, and nothing else."]})
    return wanted


def shown(jobs: Sequence[Job], wanted: Collection[str], serializer: JobSerializer) -> list[dict[str, Any]]:
    """The jobs as answers have them, with what is wanted besides: at the cost of one statement for all."""
    as_shown = [serializer.to_representation(job) for job in jobs]
    if LAST_EXECUTION in wanted:
        latest = Execution.objects.in_list().latest_of(jobs)
        for job, one in zip(jobs, as_shown, strict=True):
            one[LAST_EXECUTION] = ExecutionRowSerializer(latest[job.id]).data if job.id in latest else None
    return as_shown
