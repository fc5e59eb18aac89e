"""Whatever is sent, the answer says what is wrong and what to do; it is never a 500."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.serializers import ListField

from jobs.api.lean import LeanSerializer
from jobs.api.strict import BoundedListField, StrictSerializer

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}


def deep(levels: int) -> str:
    return '{"task": "send_email", "payload": ' + '{"a":' * levels + "1" + "}" * levels + "}"


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"task": "send_emial"}, "task", "Registered: "),
        ({"task": 5}, "task", ""),
        ({"task": None}, "task", ""),
        ({"task": ""}, "task", ""),
        ({"task": "x" * 1000}, "task", ""),
        ({"payload": {"to": "alice@example.com"}}, "payload.subject", "missing"),
        ({"payload": MAIL | {"bdoy": "x"}}, "payload.bdoy", "Allowed: to, cc, bcc"),
        ({"payload": MAIL | {"to": "nowhere"}}, "payload.to.0", "email"),
        ({"payload": MAIL | {"to": []}}, "payload.to", "at least 1"),
        ({"payload": MAIL | {"subject": "a\nBcc: all@example.com"}}, "payload.subject", "single line"),
        ({"payload": MAIL | {"body": 5}}, "payload.body", "string"),
        ({"payload": []}, "payload", "JSON object"),
        ({"payload": "text"}, "payload", "JSON object"),
        ({"payload": None}, "payload", ""),
        ({"payload": MAIL | {"body": "a\x00b"}}, "payload.body", "\\u0000"),
        ({"payload": MAIL | {"\x00": 1}}, "payload", "\\u0000"),
        ({"payload": {"n": 10**30}}, "payload.n", "64 bits"),
        ({"schedule": {"type": "cron", "expression": "61 * * * *"}}, "schedule.expression", "minute"),
        ({"schedule": {"type": "cron", "expression": "* * * *"}}, "schedule.expression", "five"),
        ({"schedule": {"type": "cron", "expression": "0 0 31 2 *"}}, "schedule.expression", "five years"),
        (
            {"schedule": {"type": "cron", "expression": "* * * * *", "timezone": "Mars/Base"}},
            "schedule.timezone",
            "Mars",
        ),
        ({"schedule": {"type": "once", "run_at": "2020-01-01T00:00:00Z"}}, "schedule.run_at", "in the past"),
        ({"schedule": {"type": "once", "run_at": "tomorrow"}}, "schedule.run_at", ""),
        ({"schedule": {"type": "once", "run_at": "2090-01-01T00:00:00"}}, "schedule.run_at", ""),
        ({"schedule": {"type": "once"}}, "schedule.run_at", "missing"),
        ({"schedule": {"type": "interval", "seconds": 0}}, "schedule.seconds", "1"),
        ({"schedule": {"type": "interval", "seconds": "60"}}, "schedule.seconds", "whole number"),
        ({"schedule": {"type": "interval", "seconds": True}}, "schedule.seconds", "whole number"),
        ({"schedule": {"type": "sometimes"}}, "schedule.type", "cron"),
        ({"schedule": {"type": "now", "when": "ever"}}, "schedule", "allowed"),
        ({"schedule": []}, "schedule", ""),
        ({"schedule": "hourly"}, "schedule", ""),
        ({"schedule": {}}, "schedule.type", "missing"),
        ({"priority": "urgent"}, "priority", "urgent"),
        ({"priority": 5}, "priority", ""),
        ({"priority": ["high"]}, "priority", ""),
        ({"priority": {}}, "priority", ""),
        ({"max_retries": -1}, "max_retries", "0"),
        ({"max_retries": 10**9}, "max_retries", "100"),
        ({"max_retries": "many"}, "max_retries", ""),
        ({"time_limit": 0}, "time_limit", "0.1"),
        ({"time_limit": 10**9}, "time_limit", "604800"),
        ({"retry_delay": "soon"}, "retry_delay", "number"),
        ({"retry_delay_cap": -1}, "retry_delay_cap", "0.1"),
        ({"lease": 0.5}, "lease", "1.0"),
        ({"name": "x" * 201}, "name", "200"),
        ({"name": {"a": 1}}, "name", ""),
        ({"nmae": "typo"}, "nmae", "Allowed: name, task"),
    ],
)
def test_a_bad_job_is_refused_with_the_field_and_the_remedy(api, change, field, says) -> None:
    answer = api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL} | change)

    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    told = {error["field"]: error["message"] for error in answer.json()["errors"]}
    assert field in told
    assert says.lower() in told[field].lower()
    assert says.lower() in answer.json()["detail"].lower()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'"text"', 400),
        (b"\xff\xfe", 400),
        (b'{"task": NaN}', 400),
        (b'{"task": "send_email", "payload": {"n": 1e999}}', 400),
        (b'{"task": "send_email", "payload": {"n": ' + b"9" * 5000 + b"}}", 400),
        (b'{"task": "send_email", "payload": {"s": "\\ud800"}}', 400),
        (deep(40).encode(), 400),
        (deep(100_000).encode(), 400),
        (b'{"a":"' + b"x" * 1_100_000 + b'"}', 413),
    ],
)
def test_a_bad_body_is_refused(api, body, status) -> None:
    answer = api.generic("POST", "/api/v1/jobs", body, content_type="application/json")

    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["detail"]


def test_another_kind_of_body_is_refused(api) -> None:
    answer = api.post("/api/v1/jobs", "task=send_email", content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 415
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("identifier", ["1", "not-an-id", "%00", "0" * 400, "00000000-0000-0000-0000-000000000000"])
def test_an_id_that_leads_nowhere_is_not_found(api, identifier) -> None:
    for path in (f"jobs/{identifier}", f"executions/{identifier}", f"jobs/{identifier}/executions"):
        assert api.get(f"/api/v1/{path}").status_code == 404
    assert api.post(f"/api/v1/jobs/{identifier}/pause").status_code == 404
    assert api.patch(f"/api/v1/jobs/{identifier}", {}).status_code == 404


def test_a_wrong_method_says_which_are_right(api) -> None:
    answer = api.put("/api/v1/jobs", {})

    assert answer.status_code == 405
    assert answer["Content-Type"] == "application/problem+json"
    assert "POST" in answer["Allow"]


def test_an_address_that_leads_nowhere_points_to_the_docs(client) -> None:
    answer = client.get("/api/v1/nothing/here")

    assert answer.status_code == 404
    assert "/api/docs" in answer.json()["detail"]


def test_read_only_fields_cannot_be_written(api) -> None:
    job = api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL, "status": "CANCELLED"})

    assert job.status_code == 400 and job.json()["errors"][0]["field"] == "status"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    data=st.dictionaries(st.sampled_from(["task", "payload", "schedule", "name", "priority", "max_retries"]), ANYTHING)
)
def test_no_json_at_all_makes_a_500(api, data) -> None:
    body = json.dumps({"task": "send_email", "payload": MAIL} | data)

    answer = api.generic("POST", "/api/v1/jobs", body, content_type="application/json")

    assert answer.status_code in (201, 400)
    if answer.status_code == 400:
        assert answer.json()["detail"]


@pytest.mark.parametrize(
    ("route", "body", "field"),
    [
        ("jobs/bulk/pause", {}, "ids"),
        ("dead-letters/discard", {}, "executions"),
        ("keys", {"name": "x"}, "scopes"),
        ("alerts", {"name": "x", "channel": "email"}, "emails"),
        ("alerts", {"name": "x", "channel": "email"}, "kinds"),
        ("worker-keys", {"name": "x"}, "tasks"),
    ],
)
def test_a_list_that_is_far_too_long_is_refused_without_a_look_at_its_items(api, route, body, field) -> None:
    # To find fault with each item takes ten seconds, and hundreds of megabytes.
    answer = api.post(f"/api/v1/{route}", body | {field: [0] * 300_000})

    assert answer.status_code == 400 and len(answer.content) < 1_000
    assert answer.json()["errors"][0]["field"] == field


def test_requests_have_no_lists_without_a_bound() -> None:
    def all_below(kind: type) -> set[type]:
        return {kind}.union(*map(all_below, kind.__subclasses__()))

    written = [
        f"{kind.__name__}.{name}"
        for kind in all_below(StrictSerializer) - {LeanSerializer}  # which is of no model
        for name, field in kind().fields.items()
        if isinstance(field, ListField) and not field.read_only and not isinstance(field, BoundedListField)
    ]

    assert written == []
