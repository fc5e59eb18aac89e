"""How large the due index is, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from scheduling.index import DueIndex


class IndexGauges(Collector):
    def __init__(self, index: DueIndex) -> None:
        self._index = index
        self._size: int | None = None

    def collect(self) -> Iterator[Metric]:
        if self._size is not None:
            yield GaugeMetricFamily(
                "due_index_size",
                "Jobs that the due index holds, leased ones included. It should be the number of jobs with a due time.",
                value=self._size,
            )

    def look(self) -> None:
        self._size = self._index.size()

    def forget(self) -> None:
        self._size = None
