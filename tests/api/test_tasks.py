"""What can be run, and what each task wants, over the API."""

from __future__ import annotations

import pytest
from django.conf import settings

from execution.registry import registry
from jobs.admin.editors import payload_schemas
from tests.conftest import client_of

pytestmark = pytest.mark.django_db


def test_every_task_is_listed_with_its_schema_and_defaults(api) -> None:
    tasks = {one["name"]: one for one in api.get("/api/v1/tasks").json()["results"]}

    assert list(tasks) == registry.names()
    mail = tasks["send_email"]
    assert mail["description"].startswith("Send each mail")
    assert {"to", "subject", "body"} <= set(mail["payload_schema"]["required"])
    assert mail["defaults"]["max_retries"] == settings.MAX_RETRIES
    assert mail["defaults"]["time_limit"] == settings.TIME_LIMIT.total_seconds()
    assert api.get("/api/v1/tasks/send_email").json() == mail


def test_a_schema_has_no_docstring_that_was_written_for_developers(api) -> None:
    assert "description" not in api.get("/api/v1/tasks/send_email").json()["payload_schema"]
    assert payload_schemas()["send_email"]["description"] == registry.get("send_email").description


def test_a_task_nobody_knows_is_not_found_and_those_there_are_are_named(api) -> None:
    answer = api.get("/api/v1/tasks/send_emial")

    assert answer.status_code == 404 and answer["Content-Type"] == "application/problem+json"
    assert "send_email" in answer.json()["detail"]


def test_only_who_is_signed_in_is_told() -> None:
    assert client_of(None).get("/api/v1/tasks").status_code == 401
