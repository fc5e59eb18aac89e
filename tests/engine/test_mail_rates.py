"""A mail over its rate is sent later, and neither fails nor holds a thread meanwhile."""

from __future__ import annotations

import pytest
from django.core import mail
from django.utils import timezone

from accounts import mail_rates
from accounts.models import Bucket
from execution.models import Destination
from jobs import services
from jobs.models import Attempt, Execution
from jobs.services import NewJob
from jobs.states import Status
from tests.contracts.buckets import LONG

MAIL = {"to": "you@example.com", "subject": "Report", "body": "…"}


@pytest.fixture
def over_the_rate(system, alice, team, settings, monkeypatch) -> Execution:
    """An execution whose mail was one too many. Its job has no retries."""
    settings.MAIL_RATE = 1
    monkeypatch.setattr(mail_rates, "HOUR", LONG)
    jobs = [services.create_job(NewJob("send_email", MAIL, max_retries=0), tenant=team, actor=alice) for _ in range(2)]
    ours = Execution.objects.filter(job__in=jobs)
    system.run_until(lambda: {Status.COMPLETED, Status.RETRYING} == set(ours.values_list("status", flat=True)))
    return ours.get(status=Status.RETRYING)


def test_a_mail_over_its_rate_waits_uncounted_and_is_sent_later(system, over_the_rate) -> None:
    assert len(mail.outbox) == 1
    assert over_the_rate.not_before > timezone.now() and not Attempt.objects.filter(execution=over_the_rate).exists()
    assert not Destination.objects.exists(), "nothing was learned of the mail server"

    Bucket.objects.all().delete()
    now = timezone.now()
    Execution.objects.filter(pk=over_the_rate.pk).update(not_before=now, wake_at=now)
    system.run_until(lambda: Execution.objects.filter(pk=over_the_rate.pk, status=Status.COMPLETED))

    assert len(mail.outbox) == 2


def test_mail_of_other_tenants_goes_out_meanwhile(system, over_the_rate, charlie) -> None:
    charlie.note_verified(charlie.email)
    other = services.create_job(NewJob("send_email", MAIL), tenant=charlie.tenants.get(), actor=charlie)

    system.run_until(lambda: other.executions.filter(status=Status.COMPLETED))

    over_the_rate.refresh_from_db()
    assert over_the_rate.status == Status.RETRYING
