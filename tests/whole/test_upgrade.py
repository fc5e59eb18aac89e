"""While a release is rolled out, processes of the one before it work beside ours, on tables that are ours already.

The old ones are real: the previous release out of this repository's history, in processes of its own. Whatever
either side does, each job is done, and done once.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from accounts.models import Tenant
from execution.broker import get_broker
from execution.broker.rabbitmq.topology import Topology
from jobs import services
from jobs.models import Execution, Job
from jobs.services import NewJob
from jobs.states import Status
from tests.engine.rabbitmq.conftest import channel, connection  # noqa: F401
from tests.previous import ROOT, previous, unpack
from tests.whole.mailserver import MailServer
from tests.whole.person import Person
from tests.whole.processes import eventually, free_port, ready_address

MAIL = {"to": ["one@example.com"], "subject": "Hello", "body": "plain"}


@pytest.fixture(scope="session")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the previous release."""
    return unpack(previous(), tmp_path_factory.mktemp("previous"))


def completed() -> int:
    return Execution.objects.filter(status=Status.COMPLETED).count()


def ran_by(process: subprocess.Popen[str]) -> int:
    return Execution.objects.filter(worker__endswith=f"-{process.pid}").count()


def mails(team: Tenant, count: int) -> list[Job]:
    wanted = [NewJob("send_email", MAIL, name=f"mail {number}", tags=["upgrade"]) for number in range(count)]
    return services.create_jobs(wanted, tenant=team, actor=None)


def each_sent_once(mailserver: MailServer) -> bool:
    sent = Counter(mail["X-Idempotency-Key"] for mail in mailserver.inbox)
    return sent == Counter(str(pk) for pk in Execution.objects.values_list("pk", flat=True))


def test_the_recorded_release_has_the_migrations_it_is_said_to_have(older) -> None:
    last = {app: max(file.stem for file in (older / app / "migrations").glob("0*.py")) for app in previous().migrations}

    assert last == previous().migrations


def test_old_processes_alone_do_what_the_new_release_has_accepted(older, run, team, mailserver) -> None:
    mails(team, 5)

    executor = run(older, "run_executor")
    for command in ("run_poller", "run_recoverer"):
        run(older, command)

    eventually(lambda: completed() == 5)
    assert each_sent_once(mailserver) and ran_by(executor) == 5
    assert set(Execution.objects.values_list("attempt", flat=True)) == {1}


@pytest.mark.parametrize("old", ["run_poller", "run_executor"])
def test_an_old_poller_feeds_a_new_executor_and_a_new_one_an_old_executor(old, older, run, team, mailserver) -> None:
    mails(team, 5)

    for command in ("run_poller", "run_executor"):
        run(older if command == old else ROOT, command)

    eventually(lambda: completed() == 5)
    assert each_sent_once(mailserver)
    assert set(Execution.objects.values_list("attempt", flat=True)) == {1}


def test_old_and_new_side_by_side_do_each_due_time_once(older, run, team, mailserver) -> None:
    every_second = services.create_job(
        NewJob("send_email", MAIL, {"type": "interval", "seconds": 1}, misfire="catch_up", overlap="allow"),
        tenant=team,
        actor=None,
    )
    executors = [
        run(folder, "run_executor", "--concurrency", "1", EXECUTIONS_PER_MESSAGE="1") for folder in (older, ROOT)
    ]
    for folder in (older, ROOT):
        for command in ("run_poller", "run_recoverer"):
            run(folder, command)

    # Each is known to work before the load, or the first to start might have done it all by then. A few at a time:
    # what is made while one of them is still starting is a backlog for later.
    few: list[Job] = []

    def both_take_part() -> bool:
        if all(ran_by(one) for one in executors):
            return True
        if Execution.objects.filter(job__in=few, status=Status.COMPLETED).count() == len(few):
            few[:] = mails(team, 4)
        return False

    eventually(both_take_part)
    jobs = mails(team, 40)

    eventually(lambda: Execution.objects.filter(job__in=jobs, status=Status.COMPLETED).count() == 40)
    services.pause_job(every_second, actor=None)
    eventually(lambda: not Execution.objects.unfinished().exists())
    assert each_sent_once(mailserver)
    assert Job.objects.annotate(times=Count("executions")).exclude(pk=every_second.pk).exclude(times=1).count() == 0
    due = list(every_second.executions.values_list("due_at", flat=True).order_by("due_at"))
    assert due == [due[0] + timedelta(seconds=number) for number in range(len(due))]


def test_a_new_recoverer_leaves_alone_what_an_old_executor_holds(older, run, team) -> None:
    job = Job.objects.create(tenant=team, task="nap", payload={"seconds": 6})
    services.run_job_now(job, actor=None)
    # A lease is extended after a third of it: on a busy machine, a third of a second is not always enough.
    executor = run(older, "run_executor", "--tasks", "nap", EXECUTION_LEASE="3")
    run(ROOT, "run_recoverer")

    eventually(lambda: completed() == 1)

    execution = Execution.objects.get()
    assert (execution.attempt, ran_by(executor)) == (1, 1) and not execution.attempts.exists()


def test_what_a_killed_old_executor_held_is_run_by_a_new_one(older, run, team) -> None:
    job = Job.objects.create(tenant=team, task="nap", payload={"seconds": 2})
    services.run_job_now(job, actor=None)
    run(ROOT, "run_recoverer")
    executor = run(older, "run_executor", "--tasks", "nap", EXECUTION_LEASE="1")
    eventually(lambda: Execution.objects.filter(status=Status.RUNNING))

    executor.kill()
    run(ROOT, "run_executor", "--tasks", "nap")

    eventually(lambda: completed() == 1)
    assert [one.outcome for one in Execution.objects.get().attempts.all()] == ["UNKNOWN"]


def test_what_an_old_executor_gave_up_is_a_dead_letter_with_a_cause(older, run, team, mailserver) -> None:
    mailserver.refusals = 100
    services.create_job(NewJob("send_email", MAIL, max_retries=0), tenant=team, actor=None)
    run(older, "run_executor")
    run(ROOT, "run_poller")
    eventually(lambda: Execution.objects.dead().filter(fingerprint=None))

    run(ROOT, "run_recoverer")

    eventually(lambda: Execution.objects.dead().exclude(fingerprint=None))
    eventually(lambda: get_broker().dead_letters() == 1)


def test_an_old_web_still_takes_people_and_jobs_which_new_processes_run(older, run, mailserver) -> None:
    for command in ("run_poller", "run_executor", "run_recoverer"):
        run(ROOT, command)
    person = Person(ready_address(run(older, "run_all", "--port", str(free_port()))))

    job = person.ask("POST", "/api/v1/jobs", {"task": "send_email", "payload": MAIL, "name": "by the old one"})

    eventually(lambda: completed() == 1)
    [execution] = person.ask("GET", f"/api/v1/jobs/{job['id']}/executions")["results"]
    assert execution["status"] == "COMPLETED" and each_sent_once(mailserver)


@pytest.mark.skipif(not settings.AMQP_URL, reason="Without RabbitMQ there are no messages")
def test_an_old_executor_parks_a_message_of_a_later_version_and_its_execution_is_run_all_the_same(
    older,
    run,
    team,
    mailserver,
    channel,  # noqa: F811
) -> None:
    mails(team, 1)
    run(ROOT, "run_poller")
    eventually(lambda: get_broker().depth("send_email") == 1)
    execution = Execution.objects.get()
    topology = Topology(settings.NAME_PREFIX)
    later = {"v": 2, "task": "send_email", "executions": [str(execution.pk)], "and": "what only v2 knows"}
    channel.queue_purge(topology.queue("send_email"))
    channel.basic_publish(topology.exchange, "send_email", json.dumps(later).encode())

    executor = run(older, "run_executor")

    eventually(lambda: get_broker().dead_letters() == 1)
    execution.refresh_from_db()
    assert executor.poll() is None and execution.attempt == 0
    Execution.objects.update(wake_at=timezone.now())  # QUEUE_PATIENCE is over
    run(ROOT, "run_recoverer")
    eventually(lambda: completed() == 1)
    assert each_sent_once(mailserver) and ran_by(executor) == 1
