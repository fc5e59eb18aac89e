"""Errors as the OpenAPI schema tells them."""

from __future__ import annotations

from rest_framework import serializers

from jobs.api.problems import CONTENT_TYPE


class FaultSerializer(serializers.Serializer):
    field = serializers.CharField()
    message = serializers.CharField(help_text="What is wrong with it, and what to do.")


class QuotaSerializer(serializers.Serializer):
    name = serializers.CharField()
    limit = serializers.IntegerField()
    used = serializers.IntegerField()
    wanted = serializers.IntegerField(help_text="How many more were asked for.")


class ProblemSerializer(serializers.Serializer):
    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    errors = FaultSerializer(many=True, required=False, help_text="Of a 400: what is wrong with which field.")
    quota = QuotaSerializer(required=False, help_text="Of a 403 or 429: the quota that is used up.")


def problems(*statuses: int) -> dict[tuple[int, str], type[ProblemSerializer]]:
    """The errors that a route may answer with, for its description."""
    return {(status, CONTENT_TYPE): ProblemSerializer for status in statuses}
