"""A poller that is killed is noticed: who asked is told of the job and its due time once, and once that it is over."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import timedelta
from email.message import EmailMessage
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from jobs import services
from jobs.models import AlertRule, Incident, Job, Notice, Presence
from jobs.models.presence import VANISHES
from jobs.services import NewJob
from tests.alerting import due_at, rule_of
from tests.whole.fleet import END, Fleet
from tests.whole.processes import eventually

HOURLY = {"type": "interval", "seconds": 3600}
MAIL = {"to": "you@example.com", "subject": "Report", "body": "…"}
SOON = {
    "WATCH_INTERVAL": "0.1",
    "COURIER_INTERVAL": "0.1",
    "MISSED_AFTER": "1",
    "ABSENT_AFTER": "1",
    "ALERT_PAUSE": "0.1",
    "ALERT_EMAILS": "ops@example.com",
}


@pytest.fixture
def fleet(mailserver) -> Iterator[Fleet]:
    fleet = Fleet(EMAIL_URL=mailserver.url, **SOON)
    yield fleet
    fleet.stop()


@pytest.fixture
def job(team) -> Job:
    wanted = NewJob("send_email", MAIL, HOURLY, name="Nightly report")
    return services.create_job(wanted, tenant=team, actor=None)


def test_a_killed_poller_is_told_once_by_any_number_of_watchers_and_once_when_it_is_back(
    fleet, job, team, mailserver
) -> None:
    def mails(recipient: str) -> list[EmailMessage]:
        return [mail for mail in list(mailserver.inbox) if mail["To"] == recipient]

    def times_told() -> float:
        """How often mails told of each time that no poller was there. On a busy machine there may be more than one."""
        told = sum(mail.get_content().count("No poller is running:") for mail in mails("ops@example.com"))
        return told / max(1, Incident.objects.of_kind("no_poller").count())

    rule = rule_of(team)
    AlertRule.objects.filter(pk=rule.pk).update(pause=0.1)
    poller = fleet.start("poller")
    for _ in range(2):
        fleet.start("watcher")

    fleet.kill(poller)
    due = timezone.now()
    due_at(job, due)
    missed = f"[Punctual] Missed: Nightly report, due {due:%Y-%m-%d %H:%M:%S} UTC"
    eventually(lambda: mails("oncall@example.com") and times_told() >= 1)
    fleet.start("poller")
    eventually(lambda: len(mails("oncall@example.com")) == 2 and times_told() >= 2)
    eventually(lambda: not Notice.objects.filter(try_at__isnull=False).exists())

    assert [mail["Subject"] for mail in mails("oncall@example.com")] == [
        missed,
        "[Punctual] Recovered: Nightly report",
    ]
    assert str(job.pk) in mails("oncall@example.com")[0].get_content()
    assert times_told() == 2  # that it was gone, and that it is back
    [incident] = Incident.objects.of_kind("missed")
    assert (incident.since, incident.job_id) == (due, job.pk)


def test_by_default_a_poller_that_is_gone_is_told_within_a_minute() -> None:
    longest = VANISHES + settings.ABSENT_AFTER + 2 * settings.WATCH_INTERVAL + settings.COURIER_INTERVAL
    longest = max(longest, settings.MISSED_AFTER + settings.WATCH_INTERVAL + settings.COURIER_INTERVAL)

    assert longest < timedelta(seconds=45)  # which leaves a mail server some time


def test_a_watcher_that_is_told_to_stop_says_goodbye(fleet) -> None:
    watcher: Any = fleet.start("watcher")

    watcher.send_signal(signal.SIGTERM)

    assert watcher.wait(END) == 0
    assert not Presence.objects.filter(role="watcher").exists()
