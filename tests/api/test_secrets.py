"""Over the API and in the admin, secrets go in and never come out."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse
from pydantic import BaseModel, ConfigDict

from accounts.services import register_admin
from execution.registry import registry, task
from jobs import services
from jobs.models import AuditEvent, Execution, Job
from jobs.redaction import MARK, SEALED
from jobs.sealing import get_seal
from jobs.states import Status

pytestmark = pytest.mark.django_db

SECRET = "s3cr3t-hunter22"
HOURLY = {"type": "interval", "seconds": 3600}
CALL = {"url": "https://example.com", "headers": {"Authorization": f"Bearer {SECRET}", "Accept": "*/*"}}
SHOWN = {"url": "https://example.com", "headers": {"Authorization": MARK, "Accept": "*/*"}}


@pytest.fixture(autouse=True)
def call():
    """A task that takes anything."""

    class Anything(BaseModel):
        model_config = ConfigDict(extra="allow")

    task("call", payload=Anything)(lambda payload, run: None)
    yield
    del registry._tasks["call"]


def create(api, payload=CALL) -> dict:
    answer = api.post("/api/v1/jobs", {"task": "call", "payload": payload, "schedule": HOURLY})
    assert answer.status_code == 201, answer.content
    return answer.json()


def opened(job: str) -> dict:
    row = Job.objects.get(pk=job)
    return get_seal().opened(row.payload, row.tenant_id)


def test_no_answer_shows_a_secret(api) -> None:
    job = create(api)
    address = f"/api/v1/jobs/{job['id']}"
    bulk = api.post("/api/v1/jobs/bulk", {"jobs": [{"task": "call", "payload": CALL, "schedule": HOURLY}]})
    execution = api.post(f"{address}/run").json()

    answers = [
        bulk,
        api.get(address),
        api.get("/api/v1/jobs"),
        api.patch(address, {"name": "Report"}),
        api.post(f"{address}/pause"),
        api.post(f"{address}/resume"),
        api.get(f"/api/v1/executions/{execution['id']}"),
        api.get("/api/v1/audit"),
    ]

    assert job["payload"] == SHOWN and bulk.json()["results"][0]["job"]["payload"] == SHOWN
    for answer in answers:
        assert answer.status_code == 200 and MARK in answer.content.decode()
        assert SECRET not in answer.content.decode() and SEALED not in answer.content.decode()
    assert opened(job["id"]) == CALL


def test_what_is_read_can_be_sent_back(api) -> None:
    job = create(api)
    address = f"/api/v1/jobs/{job['id']}"
    payload = api.get(address).json()["payload"]

    kept = api.patch(address, {"payload": payload | {"url": "https://example.org"}})
    changed = api.patch(address, {"payload": SHOWN | {"headers": {"Authorization": "Basic 12345678"}}})

    assert kept.json()["payload"]["headers"] == SHOWN["headers"]
    assert changed.json()["payload"]["headers"] == {"Authorization": MARK}
    assert opened(job["id"])["headers"] == {"Authorization": "Basic 12345678"}
    assert SECRET not in json.dumps([event.after for event in AuditEvent.objects.all()])


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({"password": MARK}, "payload.password"),
        ({"a": [{"token": MARK}]}, "payload.a.0.token"),
        ({"a": {SEALED: "x"}}, f"payload.a.{SEALED}"),
        ({"body": "x" * 600_000}, "payload"),
        ({"many": [0] * 20_000}, "payload"),
        ({"s": "\ud800"}, "payload.s"),
        ({"n": [1, {"x": "\x00"}]}, "payload.n.1.x"),
        ({"n": 2**63}, "payload.n"),
    ],
)
def test_a_payload_that_will_not_do_is_refused_on_every_way_in(api, payload, field) -> None:
    job = create(api)
    execution = api.post(f"/api/v1/jobs/{job['id']}/run").json()["id"]
    Execution.objects.update(status=Status.FAILED)
    new = {"task": "call", "payload": payload, "schedule": HOURLY}

    def send(method: str, path: str, body: dict):
        # Written here: the client would refuse some of it itself.
        return api.generic(method, f"/api/v1/{path}", json.dumps(body), content_type="application/json")

    named = {"executions": [execution], "payload": payload}
    answers = [
        send("POST", "jobs", new),
        send("PATCH", f"jobs/{job['id']}", {"payload": payload}),
        send("POST", "dead-letters/replay", named),
        send("POST", "dead-letters/replay", named | {"canary": 1}),
        send("POST", f"executions/{execution}/retry", {"payload": payload}),
    ]

    for answer in answers:
        assert answer.status_code == 400, answer.content
        assert field in [fault["field"] for fault in answer.json()["errors"]]
    bulk = send("POST", "jobs/bulk", {"jobs": [new]}).json()
    assert field in bulk["results"][0]["errors"]
    assert Execution.objects.dead().count() == 1


@pytest.fixture
def root(client):
    client.force_login(register_admin(username="root", email="root@example.com", password="x"))
    return client


def test_the_admin_shows_a_mark_and_keeps_the_secret_it_stands_for(root, api) -> None:
    job = Job.objects.get(pk=create(api)["id"])
    execution = services.run_job_now(job, actor=None)
    form = reverse("admin:jobs_job_change", args=[job.pk])
    pages = [form, reverse("admin:jobs_execution_change", args=[execution.pk])]
    pages += [reverse("admin:jobs_auditevent_change", args=[event.pk]) for event in AuditEvent.objects.all()]

    for page in pages:
        text = root.get(page).content.decode()
        assert SECRET not in text and SEALED not in text
    fields = root.get(form).context["adminform"].form
    data = {name: fields[name].value() for name in fields.fields if fields[name].value() is not None}
    data |= {"name": "Report", "payload": json.dumps(SHOWN | {"url": "https://example.org"})}
    answer = root.post(form, {name: json.dumps(v) if isinstance(v, dict) else v for name, v in data.items()})

    assert answer.status_code == 302, answer.context["adminform"].form.errors
    assert opened(job.pk) == CALL | {"url": "https://example.org"}


def test_the_admin_refuses_a_mark_that_stands_for_nothing(root, team) -> None:
    data = {"tenant": str(team.pk), "task": "call", "payload": json.dumps({"token": MARK}), "priority": "5"}

    answer = root.post(reverse("admin:jobs_job_add"), data)

    assert answer.status_code == 200 and not Job.objects.exists()
    assert "token: is the mark" in str(answer.context["adminform"].form.errors["payload"])
