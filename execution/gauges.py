"""How the system stands, for Prometheus: what nobody can count as it goes by, and has to be asked for.

Read every few seconds by whoever looks after all of it, a recoverer, and only where somebody collects metrics; a
scrape is given what was read last. Each number comes from an index and is bounded, so that a look costs milliseconds
whatever the backlog. After a look that failed there are no numbers: old ones would say that all is well.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db import models
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from execution.models import Destination
from execution.registry import Registry
from jobs.clock import Clock
from jobs.models import Execution, Job, Presence

MOST = 20_000  # counted of anything: more is "at least so many", and as bad


class SystemGauges(Collector):
    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock
        self._known: list[Metric] = []

    def collect(self) -> Iterator[Metric]:
        yield from self._known

    def look(self) -> None:
        """Read all of it anew."""
        now = self._clock.now()
        self._known = [*self._waiting(now), *self._present(now), *self._in_trouble()]

    def forget(self) -> None:
        self._known = []

    def _waiting(self, now: datetime) -> Iterator[Metric]:
        yield _by(
            "queue",
            "queue_depth",
            f"Executions of a task that may start now and wait for an executor. {MOST:,} stands for that many or more.",
            {task: _bounded(Execution.objects.ready(now, [task])) for task in self._registry.names()},
        )
        yield GaugeMetricFamily(
            "oldest_overdue_seconds",
            "How long the execution that has waited longest for a recoverer has waited. "
            "Above a minute, no recoverer keeps up.",
            value=_age(Execution.objects.stalled(now).values_list("wake_at", flat=True).first(), now),
        )
        yield GaugeMetricFamily(
            "oldest_due_seconds",
            "How long the job that has been due longest has waited for a poller. Above seconds, none keeps up.",
            value=_age(Job.objects.earliest_due(now), now),
        )

    def _present(self, now: datetime) -> Iterator[Metric]:
        present = Presence.objects.counted(now)
        roles, serving = present.roles, present.serving
        yield GaugeMetricFamily(
            "pollers_alive", "Pollers heard of in the last seconds. Without one, nothing becomes due.", roles["poller"]
        )
        yield GaugeMetricFamily("recoverers_alive", "Recoverers heard of in the last seconds.", roles["recoverer"])
        yield _by(
            "task",
            "executors_alive",
            "Executors heard of in the last seconds that run this task. Workers in other languages are not told.",
            {task: serving[task] for task in self._registry.local_names()},
        )
        yield GaugeMetricFamily(
            "executions_overrun",
            "Executions that executors hold past their time limit, because nothing ends them.",
            value=sum(present.overrun.values()),
        )

    def _in_trouble(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "dead_letters",
            f"Executions given up that nobody has replayed or discarded. {MOST:,} stands for that many or more.",
            value=_bounded(Execution.objects.dead()),
        )
        yield GaugeMetricFamily(
            "destinations_down",
            "Mail servers, hosts and other peers that are taken for down: work for them waits.",
            value=_bounded(Destination.objects.down()),
        )


def _by(kind: str, name: str, documentation: str, values: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, documentation, labels=[kind])
    for value, count in values.items():
        family.add_metric([value], count)
    return family


def _bounded(rows: models.QuerySet) -> int:
    return rows.order_by()[:MOST].count()


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
