"""What the engine counts, for Prometheus."""

from prometheus_client import Gauge

OLDEST_OVERDUE = Gauge(
    "oldest_overdue_seconds",
    "How long the execution that has waited longest for help has waited. Above a minute, no recoverer keeps up.",
)
