"""One process of each role, scraped: it has what dashboard and alerts ask for, and lines that name the request."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from prometheus_client.parser import text_string_to_metric_families

from jobs.models import Execution
from jobs.states import Status
from tests.deployed import choices, expressions
from tests.pages import section
from tests.promql import ITS_OWN, labels_in, metrics_in
from tests.whole.mailserver import MailServer
from tests.whole.person import Person
from tests.whole.processes import environment, eventually, free_port

PAGE = (settings.BASE_DIR / "docs" / "metrics.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`.*?`) \| *(\w*) *\| (.*?) \| .* \|$", re.MULTILINE)
ROLES = {
    "poller": ("manage.py", "run_poller"),
    "executor": ("manage.py", "run_executor"),
    "recoverer": ("manage.py", "run_recoverer"),
    "watcher": ("manage.py", "run_watcher"),
}
MAIL = {"to": ["one@example.com"], "subject": "s", "body": "b"}
ASKED = "asked-for-by/a.person:1"
RUN_NOW = "run-now-2"
STANDING = {  # what a recoverer tells once all is done
    ("pollers_alive",): 1,
    ("recoverers_alive",): 1,
    ("executors_alive", ("task", "send_email")): 1,
    ("queue_depth", ("queue", "send_email")): 0,
    ("dead_letters",): 0,
    ("destinations_down",): 0,
    ("oldest_due_seconds",): 0,
}
END = 60  # seconds to end in
Samples = dict[str, list[tuple[dict[str, str], float]]]


class Fleet:
    """One process of each role, each with a metrics port and a file of its lines."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.ports = {role: free_port() for role in ("web", *ROLES)}
        self.logs = {role: folder / f"{role}.log" for role in self.ports}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._env = environment(
            LOG_LEVEL="INFO", LOG_FORMAT="json", METRICS_LOOK="0.2", METRICS_HOST="127.0.0.1", **env
        )

    def start(self) -> None:
        web = ("-m", "scheduler_project.serve", "127.0.0.1", str(self.ports["web"]), "2", "2")
        self._start("web", *web)
        for role, command in ROLES.items():
            self._start(role, *command, "--metrics-port", str(self.ports[role]))
        for role in self.ports:
            eventually(lambda role=role: self.answers(role))

    def answers(self, role: str) -> bool:
        try:
            return bool(self.scrape(role))
        except (urllib.error.URLError, OSError):
            return False

    def scrape(self, role: str) -> Samples:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[role]}/metrics", timeout=20) as answer:
            text = answer.read().decode()
        samples: Samples = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                samples.setdefault(sample.name, []).append((sample.labels, sample.value))
        return samples

    def lines(self, role: str) -> list[dict]:
        return [json.loads(line) for line in self.logs[role].read_text().splitlines() if line.startswith("{")]

    def stop(self) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            process.wait(END)

    def _start(self, role: str, *command: str) -> None:
        with self.logs[role].open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, *command],
                    env=self._env,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )


@pytest.fixture
def fleet(tmp_path: Path, mailserver: MailServer) -> Iterator[Fleet]:
    # Handlers run in processes of their own, as they do for everybody: their lines must name the request too.
    fleet = Fleet(tmp_path, EMAIL_URL=mailserver.url, RETRY_BASE="0.1", ISOLATE_HANDLERS="true", EXECUTION_LEASE="60")
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.stop()


def test_each_role_shows_its_numbers_and_a_request_is_followed_through_all_of_them(fleet: Fleet, mailserver) -> None:
    person = Person(f"http://127.0.0.1:{fleet.ports['web']}")
    mailserver.refusals = 1
    job, answered = _post(person, "/api/v1/jobs", ASKED, {"task": "send_email", "payload": MAIL})
    eventually(lambda: Execution.objects.filter(status=Status.COMPLETED, attempt=2))
    _post(person, f"/api/v1/jobs/{job['id']}/run", RUN_NOW)
    eventually(lambda: Execution.objects.filter(status=Status.COMPLETED).count() == 2)
    eventually(lambda: _value(fleet.scrape("executor"), "tasks_completed_total", task="send_email") == 2)
    eventually(lambda: _value(fleet.scrape("executor"), "tasks_inflight", task="send_email") == 0)
    eventually(lambda: _value(fleet.scrape("poller"), "due_index_size") == 0)
    eventually(lambda: _told(fleet.scrape("recoverer"), STANDING) == STANDING)
    scraped = {role: fleet.scrape(role) for role in fleet.ports}

    # Whatever is asked of Prometheus is there.
    asked = set().union(*map(metrics_in, expressions()))
    assert asked - set().union(*scraped.values()) == set()

    # With the labels that it is asked by: of a misspelt one Prometheus says nothing, it has no series.
    has = ITS_OWN | _labels(*scraped.values())
    by_label = {*choices(), *(pair for expression in expressions() for pair in labels_in(expression))}
    assert {(metric, label) for metric, label in by_label if label not in has.get(metric, ())} == set()

    # The page tells of all of them, and of no others; a gauge is told by the role that it names.
    told_of = list(_documented())
    named = {name: labels for name, labels, _, _ in told_of if not name.endswith("…")}
    kinds = tuple(name.removesuffix("…") for name, _, _, _ in told_of if name.endswith("…"))
    ours = {_family(name): labels - {"le"} for name, labels in has.items() if not name.startswith((*kinds, *ITS_OWN))}
    assert {name: labels for name, labels in ours.items() if not name.endswith("_created")} == named
    for name, _, kind, roles in told_of:
        if kind == "gauge":
            assert [role for role in scraped if name in scraped[role]] == [roles], name

    # And it is true.
    executor = scraped["executor"]
    assert _value(executor, "tasks_failed_total", task="send_email") == 1
    assert _value(executor, "tasks_retried_total", task="send_email") == 1
    assert _value(executor, "tasks_dead_letter_total", task="send_email") == 0
    assert _value(executor, "jobs_processed_total", task="send_email", status="COMPLETED") == 2
    assert _value(executor, "schedule_lateness_seconds_count") == 2
    assert 0 < _value(executor, "schedule_lateness_seconds_sum") < 2 * END
    assert _value(executor, "execution_duration_seconds_count", task="send_email") == 3
    assert _value(scraped["poller"], "tasks_enqueued_total", task="send_email") == 1

    # How the system stands is told by one role alone: zeros of the others would be false alarms.
    assert not {"pollers_alive", "queue_depth", "oldest_overdue_seconds"} & set(scraped["executor"])
    assert not {"pollers_alive", "due_index_size"} & set(scraped["web"])

    # What is wrong is told by the watcher.
    assert _value(scraped["watcher"], "incidents_open", kind="missed") == 0
    assert _value(scraped["watcher"], "notices_sent_total", channel="email", outcome="sent") == 0

    # The two web processes tell the same, whichever is asked: all that both have counted.
    posts = "django_http_requests_total_by_method_total"
    assert {_value(fleet.scrape("web"), posts, method="POST") for _ in range(6)} == {4}

    # The request is found again where its work was done, on another day perhaps and in another process.
    assert answered == ASKED
    of_execution = [line for line in fleet.lines("executor") if line["event"].startswith("execution.")]
    assert [(line["event"], line["attempt"], line["request_id"]) for line in of_execution] == [
        ("execution.attempt_failed", 1, ASKED),
        ("execution.completed", 2, ASKED),
        ("execution.completed", 1, RUN_NOW),
    ]
    assert all(
        {"job", "execution", "tenant", "task", "worker", "timestamp", "level"} <= set(line) for line in of_execution
    )


def test_a_metrics_port_that_is_taken_is_told_with_the_remedy(mailserver: MailServer) -> None:
    command = [sys.executable, "manage.py", "run_recoverer", "--metrics-port", mailserver.url.rpartition(":")[2]]

    ran = subprocess.run(command, env=environment(METRICS_HOST="127.0.0.1"), capture_output=True, text=True, timeout=60)

    assert ran.returncode == 1
    assert "cannot be served on port" in ran.stderr and "--metrics-port=…" in ran.stderr


def _post(person: Person, path: str, request_id: str, body: object = None) -> tuple[dict, str]:
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {person.token}",
        "X-Request-ID": request_id,
    }
    data = json.dumps(body if body is not None else {}).encode()
    request = urllib.request.Request(person.address + path, data, headers, method="POST")
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer), answer.headers["X-Request-ID"]


def _labels(*scraped: Samples) -> dict[str, set[str]]:
    """By metric, all that its series are told apart by."""
    labels: dict[str, set[str]] = {}
    for samples in scraped:
        for name, series in samples.items():
            labels.setdefault(name, set()).update(*(has for has, _ in series))
    return labels


def _documented() -> Iterator[tuple[str, set[str], str, str]]:
    """Each metric of the page, or the beginning of several, with its labels, its type and who tells it."""
    for names, kind, roles in ROW.findall(section(PAGE, "What")):
        for name, labels in re.findall(r"`(\w+…?)(?:\{([\w,]+)\})?`", names):
            yield name, set(filter(None, labels.split(","))), kind, roles


def _family(sample: str) -> str:
    """What the page calls it: a histogram is one metric, and several samples."""
    return re.sub(r"(?<=_seconds)_(bucket|sum|count|created)$", "", sample)


def _told(samples: Samples, wanted: dict) -> dict:
    return {(name, *labels): _value(samples, name, **dict(labels)) for name, *labels in wanted}


def _value(samples: Samples, name: str, **labels: str) -> float | None:
    return next((value for has, value in samples.get(name, []) if has == labels), None)
