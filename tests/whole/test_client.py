"""The client and its command line against everything under one command, as whoever installs them would use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import timezone
from punctual import Conflict, Invalid, NotFound, Punctual, every

from jobs.models import Incident, Job
from tests.whole.person import DORA, Person
from tests.whole.processes import everything, free_port, ready_address

CLIENT = Path(__file__).parents[2] / "clients" / "python"
MAIL = {"to": "you@example.com", "subject": "Hello", "body": "From Punctual"}

# What it speaks to is the same in every mode.
pytestmark = pytest.mark.skipif(
    os.environ.get("PUNCTUAL_TEST_MODE", "embedded") != "embedded", reason="runs in mode embedded only"
)


@pytest.fixture(scope="module")
def running(django_db_setup: None) -> Iterator[str]:
    with everything() as process:
        yield ready_address(process)


@pytest.fixture
def address(running: str) -> str:
    Person(running)  # registers
    return running


def test_a_job_from_its_creation_to_its_end(address: str) -> None:
    with Punctual(address, username=DORA["username"], password=DORA["password"]) as punctual:
        job = punctual.jobs.create("send_email", MAIL, schedule=every(3600), name="Hourly", idempotency_key="hourly")
        again = punctual.jobs.create("send_email", MAIL, schedule=every(3600), name="Hourly", idempotency_key="hourly")
        execution = punctual.jobs.run(job.id).wait()
        renamed = punctual.jobs.update(job, name="Every hour")

        assert again.id == job.id
        assert execution.status == "COMPLETED" and execution.result == {"recipients": ["you@example.com"]}
        assert execution.id in [one.id for one in punctual.jobs.executions(job.id)]
        assert renamed.name == "Every hour" and renamed.etag != job.etag
        with pytest.raises(Conflict):
            punctual.jobs.update(job, name="by somebody who has read it before")
        assert punctual.jobs.pause(job.id).status == "PAUSED"
        assert punctual.jobs.resume(job.id).status == "ACTIVE"
        assert len(punctual.jobs.preview(job.id, count=3)["runs"]) == 3
        created, refused = punctual.jobs.create_many([{"task": "send_email", "payload": MAIL}, {"task": "nope"}])
        assert (created.status, refused.status) == ("created", "invalid")
        assert {one.id for one in punctual.jobs.list(page_size=1)} >= {job.id, created.job["id"]}
        assert "send_email" in [task["name"] for task in punctual.tasks.list()]
        with pytest.raises(Invalid) as raised:
            punctual.jobs.create("send_email", {"subject": "to nobody"})
        assert "payload.to" in [fault.field for fault in raised.value.errors]
        punctual.jobs.delete(job.id)
        with pytest.raises(NotFound):
            punctual.jobs.get(job.id)


def test_alerts_and_what_was_wrong(address: str) -> None:
    with Punctual(address, username=DORA["username"], password=DORA["password"]) as punctual:
        alert = punctual.alerts.create("On call", emails=["oncall@example.com"], kinds=["failed"])
        hook = punctual.alerts.create("Hook", url="https://example.com/hook")
        off = punctual.alerts.update(alert.id, enabled=False)
        known = over(punctual.jobs.create("send_email", MAIL, schedule=every(3600)).id)
        [incident] = punctual.incidents.list(kind="failed", open=False)

        assert (alert.channel, alert.kinds, hook.channel) == ("email", ["failed"], "webhook")
        assert not off.enabled and not punctual.alerts.get(alert.id).enabled
        assert {one.id for one in punctual.alerts.list()} >= {alert.id, hook.id}
        assert (incident.job, incident.error, incident.since) == (str(known.job_id), "E: no", known.since)
        assert incident.is_over and punctual.incidents.get(incident.id) == incident
        assert list(punctual.incidents.list(open=True)) == []
        punctual.alerts.delete(hook.id)
        with pytest.raises(NotFound):
            punctual.alerts.test(hook.id)
        with pytest.raises(ValueError, match="say where notices go"):
            punctual.alerts.create("Nobody")


def over(job: str) -> Incident:
    """A failure that is over: what is not, a watcher would look after."""
    now = timezone.now()
    times = dict.fromkeys(("since", "last_at", "opened_at", "recovered_at"), now)
    tenant = Job.objects.get(pk=job).tenant
    return Incident.objects.create(
        kind="failed", job_id=job, tenant=tenant, subject=job, key=job, title="Mail", detail={"error": "E: no"}, **times
    )


def test_alerts_from_a_terminal(address: str) -> None:
    made = punctual(address, "--json", "alerts", "create", "On call", "--email", "a@example.com", "--kind", "missed")
    alert = json.loads(made.stdout)
    tested = punctual(address, "--json", "alerts", "test", alert["id"])

    assert (alert["emails"], alert["kinds"]) == (["a@example.com"], ["missed"])
    assert json.loads(tested.stdout)["attempts"] == 0
    assert "On call" in punctual(address, "alerts", "list").stdout
    assert punctual(address, "incidents", "list", "--open").stdout.startswith("KIND ")
    assert punctual(address, "alerts", "delete", alert["id"]).returncode == 0
    nowhere = punctual(address, "alerts", "create", "On call")
    assert nowhere.returncode == 1 and "say where notices go" in nowhere.stderr


def test_the_same_from_a_terminal(address: str) -> None:
    created = punctual(address, "jobs", "create", "send_email", json.dumps(MAIL), "--name", "By hand", "--wait")
    listed = punctual(address, "jobs", "list")
    tailed = punctual(address, "--json", "tail", "--rounds", "1")
    paused = punctual(address, "--json", "jobs", "create", "send_email", json.dumps(MAIL), "--every", "1h")
    job = json.loads(paused.stdout)["id"]

    assert created.returncode == 0 and '"status": "COMPLETED"' in created.stdout
    assert "By hand" in listed.stdout and listed.stdout.startswith("ID ")
    assert json.loads(tailed.stdout.splitlines()[0])["status"] == "COMPLETED"
    assert json.loads(punctual(address, "--json", "jobs", "pause", job).stdout)["status"] == "PAUSED"
    refused = punctual(address, "jobs", "create", "send_emial")
    assert refused.returncode == 1 and "send_email" in refused.stderr and "Traceback" not in refused.stderr
    misused = punctual(address, "jobs", "create", "send_email", "{not json")
    assert misused.returncode == 2 and "not JSON" in misused.stderr
    away = punctual(f"http://127.0.0.1:{free_port()}", "jobs", "run", job)
    assert away.returncode == 1 and "Is it running?" in away.stderr


def punctual(address: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {
        "PYTHONPATH": str(CLIENT),
        "PUNCTUAL_URL": address,
        "PUNCTUAL_USER": DORA["username"],
        "PUNCTUAL_PASSWORD": DORA["password"],
    }
    return subprocess.run([sys.executable, "-m", "punctual", *words], env=env, capture_output=True, text=True)
