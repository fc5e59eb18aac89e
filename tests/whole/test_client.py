"""Every method of the Python client against everything under one command."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from punctual import Conflict, Execution, Invalid, NotAllowed, NotFound, Punctual, every
from punctual.parts import Part

from jobs.api.logs import PAGE
from jobs.models import Incident, Job, LogLine

MAIL = {"to": "you@example.com", "subject": "Hello", "body": "From Punctual"}

# What it speaks to is the same in every mode.
pytestmark = pytest.mark.skipif(
    os.environ.get("PUNCTUAL_TEST_MODE", "embedded") != "embedded", reason="runs in mode embedded only"
)


class Noted:
    """A part of the client that notes which of its methods are called."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.called.add(name)
        return getattr(self._part, name)


def jobs(jobs: Any, punctual: Punctual) -> None:
    job = jobs.create("send_email", MAIL, schedule=every(3600), name="Hourly", idempotency_key="hourly")
    again = jobs.create("send_email", MAIL, schedule=every(3600), name="Hourly", idempotency_key="hourly")
    execution = jobs.run(job.id).wait()
    renamed = jobs.update(job, name="Every hour")

    assert again.id == job.id
    assert execution.status == "COMPLETED" and execution.result == {"recipients": ["you@example.com"]}
    assert execution.id in [one.id for one in jobs.executions(job.id)]
    assert renamed.name == "Every hour" and renamed.etag != job.etag
    with pytest.raises(Conflict):
        jobs.update(job, name="by somebody who has read it before")
    assert jobs.update(UUID(job.id), name="Hourly").name == jobs.get(job).name == "Hourly"
    assert jobs.pause(job.id).status == "PAUSED"
    assert jobs.resume(job.id).status == "ACTIVE"
    assert len(jobs.preview(job.id, count=3)["runs"]) == 3
    created, refused = jobs.create_many([{"task": "send_email", "payload": MAIL}, {"task": "nope"}])
    assert (created.status, refused.status) == ("created", "invalid")
    assert {one.id for one in jobs.list(page_size=1)} >= {job.id, created.job["id"]}
    assert [one.id for one in jobs.list(name="hour", created_after=datetime(2020, 1, 1, tzinfo=UTC))] == [job.id]
    with pytest.raises(Invalid) as raised:
        jobs.create("send_email", {"subject": "to nobody"})
    assert "payload.to" in [fault.field for fault in raised.value.errors]
    with pytest.raises(Invalid, match="colour"):
        next(jobs.list(colour="red"))
    assert jobs.cancel(job.id).status == "CANCELLED"
    jobs.delete(job.id)
    with pytest.raises(NotFound):
        jobs.get(job.id)


def executions(executions: Any, punctual: Punctual) -> None:
    failed = complaint(punctual, "no such shelf")
    later = punctual.jobs.create("complain", {"text": "-"}, schedule=every(3600), tags=["shelf", "slow"])
    waiting = punctual.jobs.run(punctual.jobs.create("tidy", {"file": os.devnull}, schedule=every(3600)).id)
    LogLine.objects.bulk_create(
        LogLine(execution_id=failed.id, attempt=2, number=number, at=timezone.now(), level="info", text=str(number))
        for number in range(PAGE + 1)
    )

    lines = [line["text"] for line in executions.logs(failed.id)]
    assert lines == ["no such shelf", *map(str, range(PAGE + 1))], "a log has as many pages as it needs"
    assert [line["number"] for line in executions.logs(failed.id, after=f"2.{PAGE - 1}")] == [PAGE]
    assert [one.id for one in executions.list(status="FAILED", task="complain")] == [failed.id]
    assert list(executions.list(job=later.id, tag=["shelf", "slow"])) == []
    assert executions.get(failed.id).error == "RuntimeError: no such shelf"
    assert executions.retry(failed.id).wait().status == "FAILED"
    assert executions.cancel(waiting.id).wait().status == "CANCELLED"
    with pytest.raises(Conflict):
        executions.retry(waiting.id)


def dead_letters(dead_letters: Any, punctual: Punctual) -> None:
    shelf, card = complaint(punctual, "no such shelf"), complaint(punctual, "card declined")
    causes = {group["error"]: group["fingerprint"] for group in dead_letters.groups(task="complain")}

    assert causes.keys() == {"RuntimeError: no such shelf", "RuntimeError: card declined"}
    assert dead_letters.replay(executions=[shelf.id]) == {"count": 1, "more": False}
    assert punctual.executions.get(shelf.id).wait().status == "FAILED"
    assert dead_letters.replay(fingerprint=causes[card.error])["count"] == 1
    assert punctual.executions.get(card.id).wait().status == "FAILED"
    assert dead_letters.discard(filter={"task": "complain", "end_time": shelf.due_at}, reason="old")["count"] == 0
    assert dead_letters.discard(executions=[shelf, card], reason="known")["count"] == 2
    for nothing in ({}, {"executions": []}):
        with pytest.raises(Invalid):
            dead_letters.discard(**nothing)


def tasks(tasks: Any, punctual: Punctual) -> None:
    assert "send_email" in [task["name"] for task in tasks.list()]


def alerts(alerts: Any, punctual: Punctual) -> None:
    alert = alerts.create("On call", emails=["oncall@example.com"], kinds=["failed"])
    hook = alerts.create("Hook", url="https://example.com/hook")
    tested = alerts.test(alert.id)
    off = alerts.update(alert.id, enabled=False)

    assert tested["attempts"] == 0
    assert (alert.channel, alert.kinds, hook.channel) == ("email", ["failed"], "webhook")
    assert not off.enabled and not alerts.get(alert.id).enabled
    assert {one.id for one in alerts.list()} >= {alert.id, hook.id}
    alerts.delete(hook.id)
    with pytest.raises(NotFound):
        alerts.test(hook.id)
    with pytest.raises(ValueError, match="say where notices go"):
        alerts.create("Nobody")


def incidents(incidents: Any, punctual: Punctual) -> None:
    known = over(punctual.jobs.create("send_email", MAIL, schedule=every(3600)).id)
    [incident] = incidents.list(kind="failed", open=False)

    assert (incident.job, incident.error, incident.since) == (str(known.job_id), "E: no", known.since)
    assert incident.is_over and incidents.get(incident.id) == incident
    assert list(incidents.list(open=True)) == []


SHOWN: dict[str, Callable[[Any, Punctual], None]] = {
    "jobs": jobs,
    "executions": executions,
    "dead_letters": dead_letters,
    "tasks": tasks,
    "alerts": alerts,
    "incidents": incidents,
}
PARTS = [name for name, part in vars(Punctual(key="k")).items() if isinstance(part, Part)]


@pytest.mark.parametrize("name", PARTS)
def test_every_method_does_what_it_says(name: str, punctual: Punctual) -> None:
    part = getattr(punctual, name)
    noted = Noted(part)

    SHOWN[name](noted, punctual)

    assert noted.called == {method for method in vars(type(part)) if not method.startswith("_")}


def test_a_loop_over_a_filtered_list_deletes_only_what_the_filter_finds(punctual: Punctual) -> None:
    def tagged(*tags: str) -> str:
        return punctual.jobs.create("send_email", MAIL, schedule=every(3600), tags=list(tags)).id

    for _ in range(3):
        tagged("nightly", "old")
    kept = [tagged("nightly"), tagged("old")]
    for _ in range(2):
        tagged("nightly", "old")

    for job in punctual.jobs.list(tag=["nightly", "old"], page_size=1):
        punctual.jobs.delete(job.id)

    assert {job.id for job in punctual.jobs.list()} == set(kept)


def test_who_may_not_ask_is_told_what_to_do(running: str) -> None:
    for way in ({}, {"key": "wrong"}, {"token": "wrong"}, {"username": "dora", "password": "wrong"}):
        with Punctual(running, **way) as stranger, pytest.raises(NotAllowed, match="Give the client a key"):
            stranger.tasks.list()


def complaint(punctual: Punctual, text: str) -> Execution:
    """An execution that has failed for good, with these words."""
    job = punctual.jobs.create("complain", {"text": text}, schedule=every(timedelta(days=1)))
    execution = punctual.jobs.run(job.id).wait()
    assert execution.status == "FAILED"
    return execution


def over(job: str) -> Incident:
    """A failure that is over: what is not, a watcher would look after."""
    now = timezone.now()
    times = dict.fromkeys(("since", "last_at", "opened_at", "recovered_at"), now)
    tenant = Job.objects.get(pk=job).tenant
    return Incident.objects.create(
        kind="failed", job_id=job, tenant=tenant, subject=job, key=job, title="Mail", detail={"error": "E: no"}, **times
    )
