"""Handlers that know OpenTelemetry."""

from __future__ import annotations

import os

from opentelemetry import trace

from execution.registry import Run, task


@task("survey", max_retries=1)
def survey(place: str, password: str, run: Run) -> str:
    """Add to the span it is in, open one below it, link it to nobody, and fail there the first time with all told."""
    trace.get_current_span().set_attribute("survey.place", f"{place} with {password}")
    with trace.get_tracer("survey").start_as_current_span(f"measure {place}") as span:
        span.set_attribute("survey.key", password)
        span.add_link(trace.INVALID_SPAN_CONTEXT, {"survey.of": "nobody"})
        if run.attempt == 1:
            raise RuntimeError(f"{place} refuses {password}")
    return place


@task("vanish", max_retries=0)
def vanish(run: Run) -> None:
    """Take the process down."""
    os._exit(3)
