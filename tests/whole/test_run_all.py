"""Everything under one command: what a person sees who tries Punctual."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobs.models import Execution
from jobs.states import Status
from tests.whole.mailserver import MailServer
from tests.whole.person import Person
from tests.whole.processes import eventually, everything, ready_address

MAIL = {"to": ["one@example.com", "two@example.com"], "subject": "Grüße", "body": "plain", "html": "<b>bold</b>"}


@pytest.fixture(scope="module")
def post_office() -> Iterator[MailServer]:
    server = MailServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def mailserver(post_office: MailServer) -> MailServer:
    post_office.forget()
    return post_office


@pytest.fixture(scope="module")
def address(django_db_setup: None, post_office: MailServer) -> Iterator[str]:
    """Where it runs, for all tests here. Each leaves no job behind that is still due."""
    with everything(EMAIL_URL=post_office.url, RETRY_BASE="0.1") as process:
        yield ready_address(process)


@pytest.fixture
def person(address: str) -> Person:
    return Person(address)


def test_a_posted_job_is_completed_with_its_mail_in_the_inbox(person: Person, mailserver: MailServer) -> None:
    job = person.ask("POST", "/api/v1/jobs", {"task": "send_email", "payload": MAIL})

    eventually(lambda: Execution.objects.filter(status=Status.COMPLETED))

    [mail] = mailserver.inbox
    [execution] = person.ask("GET", f"/api/v1/jobs/{job['id']}/executions")["results"]
    assert mail["Subject"] == "Grüße" and mail["To"] == "one@example.com, two@example.com"
    assert mail.get_body(("plain",)).get_content().strip() == "plain"
    assert mail.get_body(("html",)).get_content().strip() == "<b>bold</b>"
    assert mail["X-Idempotency-Key"] == execution["id"]
    assert execution["status"] == "COMPLETED" and execution["result"] == {"recipients": MAIL["to"]}


def test_a_mail_that_is_refused_is_sent_again(person: Person, mailserver: MailServer) -> None:
    mailserver.refusals = 2

    person.ask("POST", "/api/v1/jobs", {"task": "send_email", "payload": MAIL})

    eventually(lambda: Execution.objects.filter(status=Status.COMPLETED, attempt=3))
    assert len(mailserver.inbox) == 1


def test_a_mail_refused_for_good_ends_among_the_dead_letters(person: Person, mailserver: MailServer) -> None:
    from execution.broker import get_broker

    mailserver.refusals = 100

    person.ask("POST", "/api/v1/jobs", {"task": "send_email", "payload": MAIL, "max_retries": 1})

    eventually(lambda: Execution.objects.filter(status=Status.FAILED, wake_at=None))
    execution = person.ask("GET", f"/api/v1/executions/{Execution.objects.get().id}")
    assert mailserver.inbox == [] and mailserver.refused == 2
    assert [attempt["number"] for attempt in execution["attempts"]] == [1, 2]
    assert "451" in execution["error"] and "Traceback" in execution["attempts"][0]["traceback"]
    assert execution["timeline"][-1]["event"] == "failed"
    eventually(lambda: get_broker().dead_letters() == 1)


def test_run_now_and_a_recurring_job_over_the_api(person: Person, mailserver: MailServer) -> None:
    hourly = {"type": "interval", "seconds": 3600}
    slow = person.ask("POST", "/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": hourly})
    quick = person.ask(
        "POST", "/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": hourly | {"seconds": 1}}
    )

    ran = person.ask("POST", f"/api/v1/jobs/{slow['id']}/run")

    eventually(lambda: Execution.objects.filter(pk=ran["id"], status=Status.COMPLETED))
    eventually(lambda: Execution.objects.filter(job=quick["id"], status=Status.COMPLETED).count() >= 2)
    assert person.ask("GET", f"/api/v1/jobs/{slow['id']}")["next_run_at"] == slow["next_run_at"]
    assert person.ask("GET", f"/api/v1/jobs/{quick['id']}")["status"] == "ACTIVE"
    person.ask("POST", f"/api/v1/jobs/{quick['id']}/pause")
    eventually(lambda: not Execution.objects.exclude(status=Status.COMPLETED))
