"""Shows a process's numbers to Prometheus, on a port of its own.

What has to be read for them is read by a thread, every few seconds, and never because somebody scrapes: ten impatient
Prometheuses cost the database no more than one. Without a port nothing is read, served or started.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Protocol

import structlog
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import connections
from prometheus_client import REGISTRY, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from execution.metrics import begin_at_zero
from execution.registry import registry

logger = structlog.get_logger(__name__)


class Looked(Protocol):
    """Gauges that are read from a server."""

    def collect(self) -> Iterable[Metric]: ...
    def look(self) -> None: ...
    def forget(self) -> None: ...


class Looker:
    """Reads gauges again and again. What cannot be read is forgotten: old numbers would say that all is well."""

    def __init__(self, gauges: Sequence[Looked], every: float) -> None:
        self._gauges = gauges
        self._every = every
        self._stopped = Event()
        self._failing = False
        self._thread = Thread(target=self._run, name="metrics", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.ident is not None:  # or it was never started
            self._thread.join()

    def _run(self) -> None:
        while True:
            self.look()
            if self._stopped.wait(self._every):
                break
        connections.close_all()

    def look(self) -> None:
        failed = [error for gauges in self._gauges if (error := self._read(gauges))]
        if failed and not self._failing:  # said once for an outage
            logger.warning("metrics.unread", error=str(failed[0]), remedy="tried again until it works")
        self._failing = bool(failed)

    def _read(self, gauges: Looked) -> Exception | None:
        try:
            gauges.look()
        except Exception as error:
            gauges.forget()
            connections.close_all()
            return error
        return None


def add_port_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "--metrics-port",
        type=int,
        default=settings.METRICS_PORT,
        help="serve metrics for Prometheus here; 0: don't (METRICS_PORT)",
    )


@contextmanager
def collected(counted: Sequence[Collector], looked: Sequence[Looked]) -> Iterator[Looker]:
    """Add these to the metrics of this process while the block lasts. The caller starts the looker."""
    begin_at_zero(registry.names())
    looker = Looker(looked, settings.METRICS_LOOK.total_seconds())
    for collector in (*counted, *looked):
        REGISTRY.register(collector)
    try:
        yield looker
    finally:
        looker.stop()
        for collector in (*counted, *looked):
            REGISTRY.unregister(collector)


@contextmanager
def exported(port: int, *, counted: Sequence[Collector] = (), looked: Sequence[Looked] = ()) -> Iterator[None]:
    """Serve this process's numbers at /metrics for as long as the block lasts, with these besides its own."""
    if not port:
        yield
        return
    try:
        server, thread = start_http_server(port, settings.METRICS_HOST)
    except (OSError, OverflowError) as error:
        raise CommandError(
            f"Metrics cannot be served on port {port}: {error}. Each process needs one of its own: --metrics-port=…"
        ) from None
    try:
        with collected(counted, looked) as looker:
            looker.start()
            yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
