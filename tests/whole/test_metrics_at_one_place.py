"""Under one command, one `/metrics` has everything that dashboard and alerts ask for."""

from __future__ import annotations

import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from jobs.models import Execution
from jobs.states import Status
from tests.deployed import expressions
from tests.promql import metrics_in
from tests.whole.person import Person
from tests.whole.processes import eventually, everything, free_port, ready_address

MAIL = {"to": ["one@example.com"], "subject": "s", "body": "b"}
Samples = dict[str, list[tuple[dict[str, str], float]]]


def scrape(address: str) -> Samples:
    with urllib.request.urlopen(f"{address}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    assert len({line for line in text.splitlines() if line.startswith("# TYPE")}) == text.count("# TYPE")
    samples: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append((sample.labels, sample.value))
    assert all(len({str(labels) for labels, _ in series}) == len(series) for series in samples.values())
    return samples


def missing_at(address: str, wanted: set[str]) -> set[str]:
    """What one scrape lacks. On a busy machine, one may lack what could not be read in time."""
    return wanted - scrape(address).keys()


def total(samples: Samples, name: str) -> float:
    return sum(value for _, value in samples.get(name, []))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_everything_under_one_command_is_at_one_address(transactional_db, workers: str) -> None:
    read = {"tasks_inflight", "oldest_overdue_seconds", "due_index_size", "incidents_open"}
    asked = {name for name in set().union(*map(metrics_in, expressions())) if not name.startswith("process_")} - {"up"}
    with everything(METRICS_LOOK="0.2", WEB_WORKERS=workers) as process:
        address = ready_address(process)
        eventually(lambda: not missing_at(address, read))
        Person(address).ask("POST", "/api/v1/jobs", {"task": "send_email", "payload": MAIL})
        eventually(lambda: Execution.objects.filter(status=Status.COMPLETED))
        eventually(lambda: total(scrape(address), "tasks_completed_total") == 1)
        eventually(lambda: total(scrape(address), "pollers_alive") == 1)
        eventually(lambda: not missing_at(address, asked))
        eventually(lambda: total(scrape(address), "django_http_requests_total_by_method_total") > 0)


def test_with_a_port_of_their_own_the_others_are_not_counted_twice(transactional_db) -> None:
    port = str(free_port())
    with everything(METRICS_PORT=port, METRICS_HOST="127.0.0.1", METRICS_LOOK="0.2") as process:
        address = ready_address(process)
        # At a port of its own the first look at the database may come after the first scrape.
        eventually(lambda: "oldest_overdue_seconds" in scrape(f"http://127.0.0.1:{port}"))
        web = scrape(address)

    assert "oldest_overdue_seconds" not in web
