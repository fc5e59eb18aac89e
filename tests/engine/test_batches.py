"""Mails that are due together go out over one connection, each with its own outcome."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobs.models import Execution
from jobs.states import Status
from tests.whole.mailserver import MailServer

MAILS = 40


@pytest.fixture
def mailserver(settings) -> Iterator[MailServer]:
    server = MailServer()
    server.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    yield server
    server.stop()


def test_mails_due_together_share_a_connection_and_each_has_its_own_outcome(system, new_job, mailserver) -> None:
    mailserver.answers = {
        "reader7@example.com": ["450 Busy"],
        "reader8@example.com": ["550 Unknown"],
    }
    for number in range(MAILS):
        payload = {"to": f"reader{number}@example.com", "subject": "Hello", "body": "There"}
        new_job(task="send_email", payload=payload)

    system.run_until(lambda: Execution.objects.filter(finished_at__isnull=False).count() == MAILS)

    assert len(mailserver.inbox) == MAILS - 1
    assert len({received["X-Idempotency-Key"] for received in mailserver.inbox}) == MAILS - 1
    assert mailserver.connections <= 6  # not one a mail: the retry has its own, and batches are claimed as they come
    [dead] = Execution.objects.dead()
    assert "550 Unknown" in dead.error and dead.attempt == 1
    [again] = Execution.objects.filter(attempt=2)
    assert again.status == Status.COMPLETED and "450 Busy" in again.attempts.get().error
