"""The examples in other languages do what docs/workers.md says, against a real server."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from execution.worker_keys import make_worker_key
from jobs import services
from jobs.models import Execution, Job
from jobs.services import NewJob
from jobs.states import Status
from tests.missing import not_tried

EXAMPLES = Path(__file__).parents[2] / "examples"
PATIENCE = 60.0  # seconds


def needs(program: str) -> str:
    return shutil.which(program) or not_tried(f"{program} is not installed, and an example needs it")


@pytest.fixture
def start(live_server) -> Iterator[Any]:
    """Start a worker, which ends by itself after so many rounds, or with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*command: str, task: str, **env: str) -> subprocess.Popen[str]:
        key = make_worker_key([task]).secret
        process = subprocess.Popen(
            command,
            env={"PATH": os.environ["PATH"], "PUNCTUAL_URL": live_server.url, "WORKER_KEY": key, "WAIT": "5", **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def due(team, system):
    """A job that waits for its worker."""

    def create(task: str, payload: dict[str, Any], **rest: Any) -> Job:
        job = services.create_job(NewJob(task, payload, **rest), tenant=team, actor=None)
        system.run_until(lambda: job.executions.exists())
        return job

    return create


def ended(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=PATIENCE)
    return output


def outcome(job: Job) -> Execution:
    return job.executions.get()


def test_the_shell_worker_runs_a_command_and_reports_its_result(start, due, tmp_path) -> None:
    needs("curl")
    job = due("resize_video", {"url": "https://example.com/cat.mp4"})
    seen = tmp_path / "claim"

    said = ended(
        start(
            str(EXAMPLES / "worker.sh"),
            *("sh", "-c", f"cat > {seen}; echo '{{\"width\": 640}}'"),
            task="resize_video",
            ROUNDS="1",
            BEAT="0.2",
        )
    )

    execution = outcome(job)
    assert execution.status == Status.COMPLETED and execution.result == {"width": 640}, said
    assert execution.worker.startswith("shell on ")
    assert "https://example.com/cat.mp4" in seen.read_text()


def test_the_shell_worker_tells_why_a_command_failed_and_whether_to_try_again(start, due) -> None:
    needs("curl")
    job = due("resize_video", {"url": "x"})

    said = ended(
        start(
            str(EXAMPLES / "worker.sh"),
            *("sh", "-c", 'echo "no \\"codec\\" for it" >&2; exit 65'),
            task="resize_video",
            ROUNDS="1",
        )
    )

    execution = outcome(job)
    assert execution.status == Status.FAILED and execution.error == 'exit code 65: no "codec" for it', said


def test_the_node_worker_serves_over_http_alone(start, due) -> None:
    good = due("resize_video", {"url": "https://example.com/cat.mp4", "width": 320})
    bad = due("resize_video", {"url": "ftp://example.com/cat.mp4"})

    said = ended(start(needs("node"), str(EXAMPLES / "worker.mjs"), task="resize_video", ROUNDS="2"))

    done, failed = outcome(good), outcome(bad)
    assert done.result == {"url": "https://example.com/cat.mp4", "width": 320, "attempt": 1}, said
    assert (
        failed.status == Status.FAILED and failed.error == "Error: ftp://example.com/cat.mp4 is not served over HTTPS"
    )
    assert "worker.mjs" in failed.attempts.get().traceback


@pytest.fixture(scope="module")
def with_amqplib(tmp_path_factory) -> Path:
    """The example as somebody has it who has run `npm install`."""
    place = tmp_path_factory.mktemp("examples")
    for name in ("worker.mjs", "package.json"):
        shutil.copy(EXAMPLES / name, place / name)
    done = subprocess.run(
        [needs("npm"), "install", "--no-audit", "--no-fund"], cwd=place, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        not_tried(f"amqplib cannot be installed: {done.stderr[-200:]}")
    return place


@pytest.mark.skipif(not settings.AMQP_URL, reason="this mode has no RabbitMQ")
def test_the_node_worker_consumes_rabbitmq_and_reports_over_http(start, due, with_amqplib) -> None:
    job = due("transcribe", {"words": ["to", "be"]})

    said = ended(
        start(
            needs("node"),
            str(with_amqplib / "worker.mjs"),
            task="transcribe",
            AMQP_URL=settings.AMQP_URL,
            NAME_PREFIX=settings.NAME_PREFIX,
            ROUNDS="1",
        )
    )

    assert outcome(job).status == Status.COMPLETED and outcome(job).result == {"text": "to be"}, said
