"""Two processes' numbers as one text."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from scheduler_project.metrics import collected
from scheduler_project.whole_metrics import Asked, added, whole_metrics


class Numbers:
    """Gauges that note how often they are read."""

    looks = 0

    def look(self) -> None:
        self.looks += 1

    def forget(self) -> None: ...

    def collect(self) -> list:
        return []


def process(count: float, seconds: list[float], **gauges: float) -> str:
    registry = CollectorRegistry()
    Counter("mails", "Mails.", ["task"], registry=registry).labels("send").inc(count)
    took = Histogram("took_seconds", "How long.", buckets=(1, 5), registry=registry)
    for each in seconds:
        took.observe(each)
    for name, value in gauges.items():
        Gauge(name, "A gauge.", registry=registry).set(value)
    return generate_latest(registry).decode()


def test_what_both_count_is_added_and_of_a_gauge_the_first_is_told() -> None:
    families = added(process(2, [0.5], memory=10, requests=1), process(3, [0.5, 3], memory=20, queue=7))

    told = {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}
    assert told["mails_total", "send"] == 5
    assert (told["took_seconds_count",], told["took_seconds_bucket", "1.0"], told["took_seconds_sum",]) == (3, 2, 4)
    assert (told["memory",], told["requests",], told["queue",]) == (10, 1, 7)


@pytest.mark.parametrize("told", ["mails_total{task=", "# TYPE", "mails_total one\n"])
def test_an_answer_that_breaks_off_leaves_the_own_numbers(told: str, monkeypatch, settings, rf) -> None:
    settings.METRICS_SOCKET = "somewhere"
    monkeypatch.setattr("scheduler_project.whole_metrics._asked_at", lambda path: told)

    answer = whole_metrics(rf.get("/metrics"))

    assert answer.status_code == 200 and b"python_info" in answer.content


def test_nothing_is_read_until_somebody_asks() -> None:
    numbers = Numbers()

    with collected([], [numbers]) as looker:
        asked = Asked(looker)
        assert numbers.looks == 0
        asked.answer()
        assert numbers.looks >= 1
