"""Everything under one command: what a person sees who tries Punctual."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

import pytest

from jobs import services
from jobs.models import Execution, Job
from jobs.states import Status
from tests.whole.mailserver import MailServer
from tests.whole.person import Person
from tests.whole.processes import environment, eventually, free_port, ready_address, start

MAIL = {"to": ["one@example.com", "two@example.com"], "subject": "Grüße", "body": "plain", "html": "<b>bold</b>"}


@pytest.fixture
def everything(mailserver: MailServer) -> Iterator[subprocess.Popen[str]]:
    process = start("manage.py", "run_all", "--port", str(free_port()), EMAIL_URL=mailserver.url, RETRY_BASE="0.1")
    yield process
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)


@pytest.fixture
def person(everything: subprocess.Popen[str]) -> Person:
    return Person(ready_address(everything))


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


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(everything: subprocess.Popen[str], signal_) -> None:
    address = ready_address(everything)

    everything.send_signal(signal_)
    output, _ = everything.communicate(timeout=30)

    assert everything.returncode == 0
    assert output.endswith("Stopped.\n") and "Traceback" not in output
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{address}/healthz", timeout=2)


def test_the_web_server_ends_with_a_killed_parent(everything: subprocess.Popen[str]) -> None:
    address = ready_address(everything)

    everything.kill()

    def refused() -> bool:
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=2).close()
        except (urllib.error.URLError, OSError):
            return True
        return False

    eventually(refused)


def test_a_taken_port_is_told_with_the_remedy() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = start("manage.py", "run_all", "--port", str(taken.getsockname()[1]))
        output, _ = process.communicate(timeout=30)

    assert process.returncode == 1
    assert "PORT=" in output and "Traceback" not in output


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["run_poller", "--once"], "Dispatched 0 job(s)."),
        (["run_recoverer", "--once"], "Recovered 0 execution(s)."),
        (["run_executor", "--once"], "Ran 0 execution(s)."),
        (
            ["run_executor", "--once", "--tasks", "send_emial"],
            "No task named 'send_emial'. Registered: ",
        ),
        (["run_executor", "--once", "--concurrency", "0"], "--concurrency 0 would run nothing. Give at least 1."),
    ],
)
def test_each_daemon_can_do_one_round(command, says) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *command], env=environment(), capture_output=True, text=True, timeout=60
    )

    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [("POLL_BATCH", "many"), ("POLL_LEASE", "-1"), ("REDIS_URL", "http://x"), ("LOG_LEVEL", "LOUD"), ("AMQP_URL", "x")],
)
def test_a_wrong_setting_is_named(name, value) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        env=environment(**{name: value}),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 1
    assert f"{name}" in done.stderr.splitlines()[-1]


@pytest.fixture
def napping(team) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Start an executor with this grace, in the middle of a nap of a minute."""
    executors: list[subprocess.Popen[str]] = []

    def begin(grace: str) -> subprocess.Popen[str]:
        env = {"EXTRA_APPS": "tests.chores", "STOP_GRACE": grace}
        job = Job.objects.create(tenant=team, task="nap", payload={"seconds": 60})
        services.run_job_now(job, actor=None)
        start("manage.py", "run_recoverer", "--once", **env).communicate(timeout=30)
        executors.append(start("manage.py", "run_executor", "--tasks", "nap", **env))
        eventually(lambda: Execution.objects.filter(status=Status.RUNNING))
        return executors[0]

    yield begin
    for executor in executors:
        executor.kill()
        executor.communicate()


def test_an_executor_that_has_used_up_its_grace_gives_back_what_runs_uncounted_and_ends(napping) -> None:
    executor = napping("0.5")

    executor.terminate()

    executor.communicate(timeout=15)
    execution = Execution.objects.get()
    assert execution.status == Status.QUEUED
    assert (execution.attempt, execution.forgiven) == (1, 1) and not execution.attempts.exists()


def test_a_second_signal_ends_it_at_once(napping) -> None:
    executor = napping("60")

    executor.terminate()
    time.sleep(0.5)
    executor.terminate()

    executor.communicate(timeout=15)
    assert executor.returncode == 128 + signal.SIGTERM
