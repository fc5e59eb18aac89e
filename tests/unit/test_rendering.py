"""Answers are written as DRF would write them, only sooner."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from django.utils.functional import lazystr
from rest_framework.exceptions import ErrorDetail
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.serializer_helpers import ReturnDict

from jobs.api.rendering import QuickJSONRenderer
from jobs.states import JobStatus, Priority

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
JAKARTA = timezone(timedelta(hours=7))


@pytest.mark.parametrize(
    "value",
    [
        {"nothing": None, "yes": True, "whole": 2**63 - 1, "part": 0.1, "round": 5.0, "large": 1e16, "empty": [{}, []]},
        'plain, "quoted", \\ / <b> \x01\n\t\x7f € 𝄞 \u2028 \u2029',
        [NOON, NOON.replace(microsecond=1), NOON.replace(microsecond=120_000), NOON.astimezone(JAKARTA), NOON.date()],
        UUID("01a1e389-b509-7876-bc9a-f4107a1b7fb7"),
        [JobStatus.ACTIVE, Priority.HIGH, (1, 2)],
        {"lazy": lazystr("words"), "error": ErrorDetail("wrong", code="invalid")},
        ReturnDict({"key": "value"}, serializer=None),
        None,
    ],
)
def test_an_answer_has_the_very_bytes_that_drf_would_write(value) -> None:
    assert QuickJSONRenderer().render(value) == JSONRenderer().render(value)


def test_nobody_makes_an_answer_longer_by_asking_for_an_indent() -> None:
    value = {"a": [1, {"b": None}]}

    assert QuickJSONRenderer().render(value, "application/json; indent=8") == QuickJSONRenderer().render(value)


def test_an_answer_is_json_whatever_it_holds() -> None:
    assert json.loads(QuickJSONRenderer().render([1e-7, float("inf"), float("nan")])) == [1e-7, None, None]
