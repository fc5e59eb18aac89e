"""How each command starts, does one round and ends, and what it says to whoever starts it wrongly."""

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
from django.conf import settings

from jobs import services
from jobs.models import Execution, Job
from jobs.states import Status
from tests.whole.processes import environment, eventually, everything, ready_address, start

once = pytest.mark.skipif(not settings.EMBEDDED, reason="the same in every mode: shown in embedded mode")


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    with everything() as process:
        yield process


@pytest.mark.parametrize("signal_", [pytest.param(signal.SIGINT, marks=once), signal.SIGTERM])
def test_a_signal_ends_it_cleanly(process: subprocess.Popen[str], signal_) -> None:
    address = ready_address(process)

    process.send_signal(signal_)
    output, _ = process.communicate(timeout=30)

    assert process.returncode == 0
    assert output.endswith("Stopped.\n") and "Traceback" not in output
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{address}/healthz", timeout=2)


@once
def test_the_web_server_ends_with_a_killed_parent(process: subprocess.Popen[str]) -> None:
    address = ready_address(process)

    process.kill()

    def refused() -> bool:
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=2).close()
        except (urllib.error.URLError, OSError):
            return True
        return False

    eventually(refused)


@once
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
        (["run_watcher", "--once"], "Tried to deliver 0 notice(s)."),
        (["run_executor", "--once"], "Ran 0 execution(s)."),
    ],
)
def test_each_daemon_can_do_one_round(command, says) -> None:
    assert says in told(command)


@once
@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["run_executor", "--once", "--tasks", "send_emial"], "No task named 'send_emial'. Registered: "),
        (["run_executor", "--once", "--concurrency", "0"], "--concurrency 0 would run nothing. Give at least 1."),
    ],
)
def test_a_daemon_that_is_told_nonsense_says_so(command, says) -> None:
    assert says in told(command)


def told(command: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *command], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@once
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


@once
def test_a_second_signal_ends_it_at_once(napping) -> None:
    executor = napping("60")

    executor.terminate()
    time.sleep(0.5)
    executor.terminate()

    executor.communicate(timeout=15)
    assert executor.returncode == 128 + signal.SIGTERM
