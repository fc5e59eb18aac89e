"""What is counted, and under which names."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from prometheus_client import REGISTRY, CollectorRegistry

from execution import metrics
from execution.broker import Message
from execution.metrics import BatchHistogram, InFlight
from jobs.ledger import Claim, Outcome
from jobs.limits import Limits
from jobs.states import AttemptOutcome, Status
from scheduler_project.request_ids import LONGEST, accepted_or_new

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def claim(task: str = "send_email", **changes) -> Claim:
    return Claim(uuid4(), 1, uuid4(), uuid4(), task, 5, 0, "{}", Limits(), "me", NOW, **changes)


def outcome(status: Status, **changes) -> Outcome:
    return Outcome(uuid4(), 1, status, NOW, **changes)


def failed(status: Status) -> Outcome:
    return outcome(status, error="ValueError: no", ended=AttemptOutcome.FAILED, took=0.2)


class Counted:
    """How much metrics have grown since it was made."""

    def __init__(self) -> None:
        self._before = self._now()

    def __call__(self, name: str, **labels: str) -> float:
        key = name, tuple(sorted(labels.items()))
        return self._now().get(key, 0.0) - self._before.get(key, 0.0)

    @staticmethod
    def _now() -> dict[tuple, float]:
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in REGISTRY.collect()
            for sample in family.samples
        }


def test_a_group_of_outcomes_is_counted_by_task_and_by_what_it_led_to() -> None:
    counted = Counted()

    metrics.count_settled(
        [
            (claim(), outcome(Status.COMPLETED, took=0.002), Status.COMPLETED),
            (claim(), outcome(Status.COMPLETED, took=3.0), Status.COMPLETED),
            (claim("http_request"), outcome(Status.COMPLETED, took=0.002), Status.COMPLETED),
            (claim(), failed(Status.RETRYING), Status.RETRYING),
            (claim(), failed(Status.FAILED), Status.FAILED),
            (claim(), failed(Status.RETRYING), Status.CANCELLED),
        ]
    )

    assert counted("tasks_completed_total", task="send_email") == 2
    assert counted("tasks_completed_total", task="http_request") == 1
    assert counted("tasks_failed_total", task="send_email") == 3
    assert counted("tasks_retried_total", task="send_email") == 1
    assert counted("tasks_dead_letter_total", task="send_email") == 1
    assert counted("jobs_processed_total", task="send_email", status="COMPLETED") == 2
    assert counted("jobs_processed_total", task="send_email", status="FAILED") == 1
    assert counted("jobs_processed_total", task="send_email", status="CANCELLED") == 1
    assert counted("execution_duration_seconds_count", task="send_email") == 5
    assert counted("execution_duration_seconds_bucket", task="send_email", le="0.005") == 1


def test_an_outcome_that_came_too_late_counts_for_nothing() -> None:
    counted = Counted()

    metrics.count_settled([(claim(), outcome(Status.COMPLETED, took=0.1), None)])

    assert counted("tasks_completed_total", task="send_email") == 0
    assert counted("execution_duration_seconds_count", task="send_email") == 0


def test_an_attempt_that_only_found_its_destination_down_has_not_failed() -> None:
    counted = Counted()
    waits = outcome(Status.RETRYING, error="smtp://mail is down", ended=None, forgiven=True)

    metrics.count_settled([(claim(), waits, Status.RETRYING)])

    assert counted("tasks_failed_total", task="send_email") == counted("tasks_retried_total", task="send_email") == 0


def test_a_task_that_nobody_has_registered_makes_no_label_of_its_own() -> None:
    counted = Counted()

    for name in ("gone", "gone as well"):
        metrics.count_settled([(claim(name), outcome(Status.COMPLETED), Status.COMPLETED)])

    assert counted("tasks_completed_total", task="other") == 2
    assert counted("tasks_completed_total", task="gone") == 0


def test_what_was_sent_is_counted_by_execution_and_not_by_message() -> None:
    counted = Counted()

    metrics.count_sent([Message("send_email", (uuid4(), uuid4()), 5), Message("send_email", (uuid4(),), 9)])

    assert counted("tasks_enqueued_total", task="send_email") == 3


def test_lateness_is_of_first_attempts() -> None:
    counted = Counted()

    metrics.count_claimed([claim(late=0.02), claim(late=4.0), claim(late=None)])

    assert counted("schedule_lateness_seconds_count") == 2
    assert counted("schedule_lateness_seconds_sum") == pytest.approx(4.02)
    assert counted("schedule_lateness_seconds_bucket", le="0.025") == 1


def test_many_values_at_once_make_the_same_histogram_as_one_by_one() -> None:
    values = [0.0, 0.1, 0.1000001, 0.5, 1.0, 7.0, 1e9]
    one_by_one, at_once = (
        BatchHistogram("h", "", registry=CollectorRegistry(), buckets=(0.1, 0.5, 1, 5)) for _ in range(2)
    )

    for value in values:
        one_by_one.observe(value)
    at_once.observe_many(values)

    assert _values(one_by_one) == _values(at_once)


def test_what_is_in_flight_is_told_for_every_task_served() -> None:
    [family] = InFlight(["http_request", "send_email"], lambda: ["send_email", "send_email", "gone"]).collect()

    told = {sample.labels["task"]: sample.value for sample in family.samples}
    assert told == {"http_request": 0, "send_email": 2, "other": 1}


@pytest.mark.parametrize("given", ["7f3a", "Root=1-67891233-abcdef012345678912345678", "a" * LONGEST])
def test_a_callers_request_id_is_kept(given) -> None:
    assert accepted_or_new(given) == given


@pytest.mark.parametrize("given", [None, "", "a" * (LONGEST + 1), "two\nlines", 'a"b', "grüße", "a b", "<script>"])
def test_a_request_id_that_is_unfit_is_replaced(given) -> None:
    made = accepted_or_new(given)

    assert made != given and len(made) == 32 and made != accepted_or_new(given)


def _values(histogram: BatchHistogram) -> list[tuple[str, dict[str, str], float]]:
    samples = [sample for family in histogram.collect() for sample in family.samples]
    return [(one.name, one.labels, one.value) for one in samples if not one.name.endswith("_created")]
