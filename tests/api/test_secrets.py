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

    kept = api.patch(address, {"payload": payload, "name": "Report"})
    changed = api.patch(address, {"payload": CALL | {"headers": {"Authorization": "Basic 12345678"}}})

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
    data |= {"name": "Report", "payload": json.dumps(SHOWN)}
    answer = root.post(form, {name: json.dumps(v) if isinstance(v, dict) else v for name, v in data.items()})

    assert answer.status_code == 302, answer.context["adminform"].form.errors
    assert opened(job.pk) == CALL and Job.objects.get(pk=job.pk).name == "Report"


HTTP = {"url": "https://1.1.1.1/v1", "headers": {"Authorization": f"Bearer {SECRET}"}, "body": {"n": 1}}
STOLEN = {"url": "https://8.8.8.8/v1", "headers": {"Authorization": MARK}, "body": {"n": 1}}
AGAIN = "was stored for another value of url. Enter the secret again."


@pytest.fixture
def sent(api):
    """A job that sends a secret, and a dead letter of it."""
    answer = api.post("/api/v1/jobs", {"task": "http_request", "payload": HTTP, "schedule": HOURLY, "name": "Sent"})
    assert answer.status_code == 201, answer.content
    job = Job.objects.get(pk=answer.json()["id"])
    execution = services.run_job_now(job, actor=None)
    Execution.objects.update(status=Status.FAILED)
    return job, execution


def test_a_stored_secret_cannot_be_sent_to_another_url_on_any_way_in(api, sent) -> None:
    job, execution = sent
    named = {"executions": [str(execution.pk)], "payload": STOLEN}

    answers = [
        api.patch(f"/api/v1/jobs/{job.pk}", {"payload": STOLEN}),
        api.patch(f"/api/v1/jobs/{job.pk}", {"payload": STOLEN, "task": "http_request"}),
        api.post("/api/v1/dead-letters/replay", named),
        api.post("/api/v1/dead-letters/replay", named | {"canary": 1}),
        api.post(f"/api/v1/executions/{execution.pk}/retry", {"payload": STOLEN}),
    ]

    for answer in answers:
        assert answer.status_code == 400, answer.content
        [fault] = answer.json()["errors"]
        assert fault["field"] == "payload.headers.Authorization" and AGAIN in json.dumps(fault)
    assert api.post("/api/v1/jobs", {"task": "http_request", "payload": STOLEN, "schedule": HOURLY}).status_code == 400
    assert opened(job.pk) == HTTP and Execution.objects.dead().count() == 1
    entered = STOLEN | {"headers": {"Authorization": "Bearer another"}}
    assert api.patch(f"/api/v1/jobs/{job.pk}", {"payload": entered}).status_code == 200


def test_a_stored_secret_does_not_go_to_another_task_even_without_a_payload(api, sent) -> None:
    job, _ = sent
    shown = api.get(f"/api/v1/jobs/{job.pk}").json()["payload"]

    for change in ({"task": "call"}, {"task": "call", "payload": shown}):
        answer = api.patch(f"/api/v1/jobs/{job.pk}", change)
        assert answer.status_code == 400, answer.content
        [fault] = answer.json()["errors"]
        assert fault["field"] == "payload.headers.Authorization" and "task http_request" in json.dumps(fault)

    assert Job.objects.get(pk=job.pk).task == "http_request"


@pytest.mark.parametrize("sent_again", [{}, {"payload": {"token": MARK}}])
def test_a_dead_letter_is_not_given_the_secret_of_another_task(api, team, sent_again) -> None:
    job = Job.objects.get(pk=create(api, {"token": "of-call"})["id"])
    dead = api.post(f"/api/v1/jobs/{job.pk}/run").json()["id"]
    Execution.objects.filter(pk=dead).update(status=Status.FAILED, finished_at=job.created_at, wake_at=None)
    changed = api.patch(f"/api/v1/jobs/{job.pk}", {"task": "http_request", "payload": CALL})
    assert changed.status_code == 200, changed.content

    answer = api.post(f"/api/v1/executions/{dead}/retry", sent_again)

    assert answer.status_code == 200, answer.content
    execution = Execution.objects.get(pk=dead)
    assert execution.task == "call"
    assert get_seal().opened(execution.effective_payload, team.pk) == {"token": "of-call"}


def test_a_mark_in_a_replay_stands_for_no_secret_of_another_task(api) -> None:
    job = Job.objects.get(pk=create(api)["id"])
    dead = api.post(f"/api/v1/jobs/{job.pk}/run").json()["id"]
    Execution.objects.filter(pk=dead).update(status=Status.FAILED, finished_at=job.created_at, wake_at=None)
    Job.objects.filter(pk=job.pk).update(task="http_request")  # as an earlier release left it

    answer = api.post(f"/api/v1/executions/{dead}/retry", {"payload": SHOWN})

    assert answer.status_code == 400 and "task http_request" in answer.json()["detail"]


@pytest.mark.parametrize(
    "change",
    [
        {"to": ["thief@example.com"]},
        {"cc": ["thief@example.com"]},
        {"reply_to": ["thief@example.com"]},
        {"from": "alice@example.com"},
        {"body": "The secret: {{ token }}"},
        {"html": "{{ token }}"},
        {"context": {"token": MARK, "show": True}},
    ],
)
def test_a_stored_secret_is_not_mailed_to_others_nor_by_another_template(api, change) -> None:
    mail = {"to": ["alice@example.com"], "subject": "Hello", "body": "Hi", "context": {"token": SECRET, "show": False}}
    job = api.post("/api/v1/jobs", {"task": "send_email", "payload": mail, "schedule": HOURLY}).json()

    answer = api.patch(f"/api/v1/jobs/{job['id']}", {"payload": job["payload"] | change})

    assert answer.status_code == 400, answer.content
    assert [fault["field"] for fault in answer.json()["errors"]] == ["payload.context.token"]
    assert opened(job["id"]) == mail


def test_the_admin_does_not_send_a_stored_secret_to_another_url(root, sent) -> None:
    job, execution = sent
    form = reverse("admin:jobs_job_change", args=[job.pk])
    fields = root.get(form).context["adminform"].form
    data = {name: fields[name].value() for name in fields.fields if fields[name].value() is not None}
    data |= {"payload": json.dumps(STOLEN)}

    edited = root.post(form, {name: json.dumps(v) if isinstance(v, dict) else v for name, v in data.items()})
    replay = reverse("admin:jobs_execution_edit_and_replay", args=[execution.pk])
    replayed = root.post(replay, {"payload": json.dumps(STOLEN)})

    assert edited.status_code == replayed.status_code == 200
    assert AGAIN in str(edited.context["adminform"].form.errors["payload"])
    assert AGAIN in str(replayed.context["form"].errors["payload"])
    assert opened(job.pk) == HTTP and Execution.objects.dead().count() == 1


def test_the_admin_refuses_a_mark_that_stands_for_nothing(root, team) -> None:
    data = {"tenant": str(team.pk), "task": "call", "payload": json.dumps({"token": MARK}), "priority": "5"}

    answer = root.post(reverse("admin:jobs_job_add"), data)

    assert answer.status_code == 200 and not Job.objects.exists()
    assert "token: is the mark" in str(answer.context["adminform"].form.errors["payload"])


def test_a_result_shows_no_secret_on_pages_and_is_whole_over_the_api(api, alice, client) -> None:
    job = create(api)
    result = {"user": "deploys", "session": {"access_token": SECRET}, "max_tokens": 7}
    execution = Execution.objects.get(pk=api.post(f"/api/v1/jobs/{job['id']}/run").json()["id"])
    Execution.objects.filter(pk=execution.pk).update(status=Status.COMPLETED, result=result)
    client.force_login(alice)
    shown = client.get(f"/executions/{execution.pk}")
    client.force_login(register_admin(username="root", email="root@example.com", password="x"))
    administered = client.get(reverse("admin:jobs_execution_change", args=[execution.pk]))
    told = api.get(f"/api/v1/executions/{execution.pk}")

    for answer in (shown, administered):
        text = answer.content.decode()
        assert answer.status_code == 200 and SECRET not in text and "deploys" in text and "max_tokens" in text
    assert told.json()["result"] == result
