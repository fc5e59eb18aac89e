"""Making up for due times that passed without a run: how it is asked for over the API, and how it is answered."""

from __future__ import annotations

from datetime import UTC
from typing import Any
from uuid import UUID

from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from jobs import backfill
from jobs.api.occurrences import link_to_window
from jobs.api.strict import BodySerializer
from jobs.backfill import FASTEST, RATE
from jobs.models import Job
from jobs.states import Cause


class NewBackfillSerializer(BodySerializer):
    dry_run = serializers.BooleanField(default=True, help_text="Only say what would be made.")
    rate = serializers.IntegerField(min_value=1, max_value=FASTEST, default=RATE, help_text="Executions a minute.")

    def get_fields(self) -> dict[str, serializers.Field]:
        # `from` is what it is called outside; in Python it is a word of the language.
        start = serializers.DateTimeField(default_timezone=UTC, help_text="Due times from this on …")
        end = serializers.DateTimeField(default_timezone=UTC, help_text="… and before this, which has passed.")
        return {"from": start, "to": end, **super().get_fields()}


class BackfillSerializer(serializers.Serializer):
    dry_run = serializers.BooleanField(help_text="If so, nothing was made.")
    count = serializers.IntegerField(help_text="Executions that are made: one for each due time that has had no run.")
    first = serializers.DateTimeField(allow_null=True, help_text="The first of these due times.")
    last = serializers.DateTimeField(allow_null=True)
    skipped = serializers.IntegerField(help_text="How many of these due times were skipped.")
    missed = serializers.IntegerField(help_text="How many of them have no execution at all.")
    left_alone = serializers.IntegerField(
        help_text="Other due times of the window: they ran, run, wait, were cancelled, or are about to be recorded."
    )
    rate = serializers.IntegerField(help_text="Executions a minute.")
    seconds = serializers.FloatField(help_text="From the first start to the last, at this rate. The first is at once.")
    occurrences = serializers.URLField(help_text="What became, or becomes, of each of these due times.")
    executions = serializers.URLField(help_text="What backfills have made of this job.")


def answer_backfill(job: Job, request: Request) -> Response:
    """What a backfill would make, or makes."""
    asked = NewBackfillSerializer(data=request.data)
    asked.is_valid(raise_exception=True)
    wanted = asked.validated_data
    window = {"start": wanted["from"], "end": wanted["to"], "rate": wanted["rate"]}
    if wanted["dry_run"]:
        return Response(_told(backfill.plan(job, **window), job.id, wanted, request))
    made = backfill.backfill(job, **window, actor=request.user)
    return Response(_told(made, job.id, wanted, request), status=status.HTTP_202_ACCEPTED)


def _told(made: backfill.Backfill, job: UUID, wanted: dict[str, Any], request: Request) -> dict[str, Any]:
    occurrences = reverse("api:job-occurrences", args=[job], request=request)
    executions = reverse("api:job-execution-list", args=[job], request=request)
    return BackfillSerializer(
        {
            "dry_run": wanted["dry_run"],
            "count": len(made.due_times),
            "first": made.due_times[0] if made.due_times else None,
            "last": made.due_times[-1] if made.due_times else None,
            "skipped": made.skipped,
            "missed": made.missed,
            "left_alone": made.left_alone,
            "rate": made.rate,
            "seconds": made.lasts.total_seconds(),
            "occurrences": link_to_window(occurrences, wanted["from"], wanted["to"]),
            "executions": f"{executions}?cause={Cause.BACKFILL}",
        }
    ).data
