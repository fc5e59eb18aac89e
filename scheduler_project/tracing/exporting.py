"""Sends spans to a collector, by the batch and on a thread of its own; one that is away is told of once.

OpenTelemetry itself writes a line for each batch it could not send. Those are silenced (`scheduler_project.logs`), and
this says in their place when it began and when it was over.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from scheduler_project.tracing.ended import Hidden

logger = structlog.get_logger(__name__)


def make_exporting() -> SpanProcessor:
    """To the collector that the environment names (OTEL_EXPORTER_OTLP_…), in batches as it says (OTEL_BSP_…)."""
    return Hidden(BatchSpanProcessor(ToldOnce(OTLPSpanExporter())))


class ToldOnce(SpanExporter):
    """Exports as another does, and says once for an outage that nothing gets through."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._lost = 0  # spans, in the outage that goes on

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except Exception:
            result = SpanExportResult.FAILURE
        if result is SpanExportResult.SUCCESS:
            if self._lost:
                logger.info("tracing.exported_again", lost_spans=self._lost)
            self._lost = 0
            return result
        if not self._lost:
            logger.warning(
                "tracing.not_exported",
                remedy="work goes on without traces; see whether the collector at OTEL_EXPORTER_OTLP_ENDPOINT answers",
            )
        self._lost += len(spans)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()
