"""What the engine counts, for Prometheus.

Everything is counted by the batch: one addition for each task in it, however many executions it has. Labels are the
names of registered tasks and nothing that payloads or people can invent, so their number is bounded. Nothing is
asked of any server here; what has to be asked for is in `execution.gauges`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import prometheus_client
from prometheus_client import Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from execution.broker import Message
from execution.registry import registry
from jobs.ledger import Claim, Outcome
from jobs.states import Status

OTHER = "other"  # the label of tasks that nobody has registered, or no longer
DURATIONS = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600)  # seconds: TIME_LIMIT is the last
LATENESS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)  # seconds: fine where we want to be

PROCESSED = prometheus_client.Counter(
    "jobs_processed_total",
    "Executions that are over, by how they ended. Those cancelled while they waited are missing: no process has them.",
    ["task", "status"],
)
ENQUEUED = prometheus_client.Counter(
    "tasks_enqueued_total",
    "Executions that the broker has confirmed, once for each time they were sent: retries and re-drives count again.",
    ["task"],
)
COMPLETED = prometheus_client.Counter("tasks_completed_total", "Executions whose handler returned a result.", ["task"])
FAILED = prometheus_client.Counter(
    "tasks_failed_total", "Attempts that ended with an error or were lost, whether or not another follows.", ["task"]
)
RETRIED = prometheus_client.Counter(
    "tasks_retried_total", "Attempts that failed and are followed by another, after its delay.", ["task"]
)
DEAD_LETTER = prometheus_client.Counter(
    "tasks_dead_letter_total", "Executions given up after their last attempt: a person has to look at these.", ["task"]
)
POSTPONED = prometheus_client.Counter(
    "executions_postponed_total",
    "Executions a full executor returned to the queue, because their tenant held its share of the threads.",
)
OF_A_TASK = (ENQUEUED, COMPLETED, FAILED, RETRIED, DEAD_LETTER)


class BatchHistogram(Histogram):
    """A histogram that is given many values at once, at the cost of few."""

    def observe_many(self, values: Sequence[float]) -> None:
        places = Counter(map(partial(bisect_left, self._upper_bounds), values))
        for place, count in places.items():
            self._buckets[place].inc(count)
        self._sum.inc(sum(values))


LATE = BatchHistogram(
    "schedule_lateness_seconds",
    "From the moment an execution was to start until its first attempt did: what the poller, the queue and busy "
    "executors have added together.",
    buckets=LATENESS,
)
DURATION = BatchHistogram(
    "execution_duration_seconds", "How long handlers ran, one value an attempt.", ["task"], buckets=DURATIONS
)


def label(task: str) -> str:
    """What a task is called in a metric."""
    return task if registry.knows(task) else OTHER


def begin_at_zero(tasks: Iterable[str]) -> None:
    """Have every counter of these tasks, so that the first failure of all is seen as a step and not as a beginning."""
    for task in map(label, tasks):
        for metric in OF_A_TASK:
            metric.labels(task)
        DURATION.labels(task)
        for status in (Status.COMPLETED, Status.FAILED):
            PROCESSED.labels(task, status.value)


def count_sent(messages: Iterable[Message]) -> None:
    """Note what the broker has taken."""
    sent: Counter[str] = Counter()
    for message in messages:
        sent[message.task] += len(message.executions)
    _add(ENQUEUED, sent)


def count_claimed(claims: Iterable[Claim]) -> None:
    """Note how late those were that are tried for the first time."""
    if late := [claim.late for claim in claims if claim.late is not None and claim.attempt == 1]:
        LATE.observe_many(late)


def count_postponed(count: int) -> None:
    """Note executions that were returned to the queue."""
    POSTPONED.inc(count)


def count_skipped(tasks: Iterable[str]) -> None:
    """Note due times that get no run, each by its task."""
    for task, count in Counter(tasks).items():
        PROCESSED.labels(label(task), Status.SKIPPED.value).inc(count)


def count_settled(settled: Iterable[tuple[Claim, Outcome, Status | None]]) -> None:
    """Note attempts that are over, each with what its outcome has led to: nothing, if it came too late."""
    completed: Counter[str] = Counter()
    took: dict[str, list[float]] = defaultdict(list)
    others: list[tuple[str, Outcome, Status]] = []
    for claim, outcome, status in settled:
        if status is None:
            continue
        if outcome.took is not None:
            took[claim.task].append(outcome.took)
        if status is Status.COMPLETED:
            completed[claim.task] += 1
        else:
            others.append((claim.task, outcome, status))
    for task, seconds in took.items():
        DURATION.labels(label(task)).observe_many(seconds)
    for task, count in completed.items():
        COMPLETED.labels(label(task)).inc(count)
        PROCESSED.labels(label(task), Status.COMPLETED.value).inc(count)
    if others:
        _count_others(others)


def _count_others(others: Sequence[tuple[str, Outcome, Status]]) -> None:
    """What did not complete. An attempt that only found its destination down was none, and has not failed."""
    for (task, status), count in Counter((task, status) for task, _, status in others).items():
        if status in (Status.FAILED, Status.CANCELLED):
            PROCESSED.labels(label(task), status.value).inc(count)
    failed = [(task, status) for task, outcome, status in others if outcome.error and outcome.ended is not None]
    _add(FAILED, Counter(task for task, _ in failed))
    _add(RETRIED, Counter(task for task, status in failed if status is Status.RETRYING))
    _add(DEAD_LETTER, Counter(task for task, status in failed if status is Status.FAILED))


def _add(counter: prometheus_client.Counter, counted: Counter[str]) -> None:
    for task, count in counted.items():
        counter.labels(label(task)).inc(count)


class InFlight(Collector):
    """What this executor holds, counted when somebody asks: keeping count would cost every execution."""

    def __init__(self, serves: Sequence[str], held: Callable[[], Iterable[str]]) -> None:
        self._serves = serves
        self._held = held

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "tasks_inflight", "Executions claimed by this executor whose outcome is not yet written.", labels=["task"]
        )
        counted = Counter(dict.fromkeys(map(label, self._serves), 0))
        counted.update(map(label, self._held()))
        for task, count in sorted(counted.items()):
            family.add_metric([task], count)
        yield family
