"""A restored backup is the truth, whatever Redis and RabbitMQ remember of what came after it.

What it knows is done, what it does not know is not, and nothing stumbles over the difference.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings

from accounts.models import Tenant
from execution.broker import get_broker
from jobs import services
from jobs.clock import database_now
from jobs.models import Execution, Job
from jobs.services import NewJob
from jobs.states import Status
from scheduling.index import get_due_index
from tests.engine.system import wipe_index
from tests.previous import ROOT
from tests.whole.backups import back_up, put_back
from tests.whole.mailserver import MailServer
from tests.whole.processes import eventually

DAEMONS = ("run_poller", "run_executor", "run_recoverer")
PATIENCE = {"QUEUE_PATIENCE": "1"}  # or what was in the queues is missed after minutes only
HOUR = timedelta(hours=1)
SOON = timedelta(seconds=1)


class Office:
    """Whose mails are sent; each of its jobs is known by the subject."""

    def __init__(self, team: Tenant, mailserver: MailServer) -> None:
        self.team = team
        self.mailserver = mailserver

    def mail(self, subject: str, schedule: dict | None = None, **rest) -> Job:
        payload = {"to": [f"{subject}@example.com"], "subject": subject, "body": "plain"}
        return services.create_job(NewJob("send_email", payload, schedule, **rest), tenant=self.team, actor=None)

    def undeliverable(self, subject: str) -> Job:
        self.mailserver.answers[f"{subject}@example.com"] = ["550 Nobody of that name"] * 9
        return self.mail(subject, max_retries=0)

    def sent(self) -> Counter[str]:
        return Counter(mail["Subject"] for mail in self.mailserver.inbox)


@pytest.fixture
def office(team: Tenant, mailserver: MailServer) -> Office:
    return Office(team, mailserver)


def at(instant: datetime) -> dict[str, str]:
    return {"type": "once", "run_at": instant.isoformat()}


def end(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(timeout=30)


def of(job: Job, **what) -> bool:
    return Execution.objects.filter(job=job, **what).exists()


def completed(*jobs: Job) -> bool:
    return all(of(job, status=Status.COMPLETED) for job in jobs)


@pytest.mark.parametrize("redis", ["kept", "flushed"] if settings.REDIS_URL else ["none"])
def test_an_older_backup_is_the_truth_again_whatever_the_other_servers_remember(
    redis, run, office: Office, mailserver: MailServer, tmp_path: Path
) -> None:
    backup = tmp_path / "punctual.backup"
    poller, executor, recoverer = (run(ROOT, daemon, **PATIENCE) for daemon in DAEMONS)

    # What the backup knows: what is done, is dead, runs, waits in its queue, or is due later.
    done, dead = office.mail("done"), office.undeliverable("dead")
    eventually(lambda: completed(done) and of(dead, status=Status.FAILED, wake_at=None))
    running = Job.objects.create(tenant=office.team, task="nap", payload={"seconds": 2})
    services.run_job_now(running, actor=None)
    eventually(lambda: of(running, status=Status.RUNNING))
    executor.kill()
    queued = office.mail("queued")
    eventually(lambda: of(queued))
    end(poller, recoverer)
    now = database_now().replace(microsecond=0)  # as finely as any index tells it
    due = office.mail("due", at(now + SOON))
    postponed = office.mail("postponed", at(now + SOON))
    deleted = office.mail("deleted", at(now + SOON))
    far = office.mail("far", at(now + HOUR))
    skipping = office.mail("skipping", {"type": "interval", "seconds": 1}, misfire="skip")
    back_up(backup)

    # What happens after it, and is to be forgotten.
    services.update_job(postponed, {"schedule": at(now + HOUR)}, actor=None)
    services.delete_job(deleted, actor=None)
    services.update_job(far, {"schedule": at(now + SOON)}, actor=None)
    poller, executor, recoverer = (run(ROOT, daemon, **PATIENCE) for daemon in DAEMONS)
    office.mail("unknown-future", at(now + HOUR))
    buried = office.undeliverable("unknown-dead")
    eventually(
        lambda: completed(queued, due, far, running, skipping) and of(buried, status=Status.FAILED, wake_at=None)
    )
    ran = dict(Execution.objects.filter(job__in=[queued, due, running]).values_list("job", "pk"))
    end(executor)
    waiting = [office.mail("unknown-waiting") for _ in range(3)]
    eventually(lambda: all(of(job) for job in waiting))
    end(poller, recoverer)

    put_back(backup)
    if redis == "flushed":
        wipe_index()
    unknown = uuid4()
    if redis == "kept":
        get_due_index().put({unknown: database_now()})  # as jobs of the time after it come due
    restored_at = database_now()
    mailserver.inbox.clear()
    eventually(lambda: database_now() > skipping.next_run_at + 2 * SOON)
    for daemon in DAEMONS:
        run(ROOT, daemon, MISFIRE_GRACE="0.5", **PATIENCE)

    known = [queued, due, postponed, deleted, running]
    eventually(lambda: completed(*known, skipping))
    assert of(skipping, status=Status.SKIPPED, due_at__lt=restored_at)
    services.pause_job(Job.objects.get(pk=skipping.pk), actor=None)
    eventually(lambda: not Execution.objects.unfinished().exists())

    sent = office.sent()
    assert sent.pop("skipping") >= 1
    assert sent == {"queued": 1, "due": 1, "postponed": 1, "deleted": 1}
    again = dict(Execution.objects.filter(job__in=[queued, due, running]).values_list("job", "pk"))
    assert again == ran  # by the same ids, so that whoever looks at the idempotency key knows them
    assert [one.outcome for one in Execution.objects.get(job=running).attempts.all()] == ["UNKNOWN"]
    assert Job.objects.get(pk=far.pk).next_run_at == far.next_run_at
    assert list(Execution.objects.dead().values_list("job", flat=True)) == [dead.pk]
    eventually(lambda: get_broker().depth("send_email") == 0)
    eventually(lambda: get_broker().dead_letters() == 1)
    assert get_due_index().known([unknown]) == {}
    if redis == "flushed":
        assert get_due_index().known([far.pk]) == {far.pk: far.next_run_at}
