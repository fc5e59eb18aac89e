"""What is wrong now, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from jobs.alerts.kinds import Kind
from jobs.models import Incident, Notice

MOST_COUNTED = 10_000  # open incidents of a kind: nobody is told more by a larger number


class IncidentGauges(Collector):
    def __init__(self) -> None:
        self._known: list[Metric] = []

    def collect(self) -> Iterator[Metric]:
        yield from self._known

    def look(self) -> None:
        told = f"Incidents that are not over, by kind; {MOST_COUNTED} stands for more."
        incidents = GaugeMetricFamily("incidents_open", told, labels=["kind"])
        for kind in Kind:
            found = Incident.objects.open().of_kind(kind).order_by("pk")[:MOST_COUNTED].count()
            incidents.add_metric([kind.value], found)
        waiting = Notice.objects.filter(try_at__isnull=False).count()
        self._known = [
            incidents,
            GaugeMetricFamily("notices_waiting", "Notices that are neither delivered nor given up.", value=waiting),
        ]

    def forget(self) -> None:
        self._known = []
