"""One `/metrics` for a system under one command: the web process adds the numbers of the process that started it.

The starting process serves them at a Unix socket in a folder that is closed to other users. It starts to read the
database for them at the first scrape: a system that nobody watches pays nothing. Counters that both processes have are
added; of a gauge that both have, such as the memory of the process, the web's own value is shown.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from threading import Lock, Thread

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django_prometheus.exports import ExportToDjangoView
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from scheduler_project.metrics import Looked, Looker, collected

logger = structlog.get_logger(__name__)

PATIENCE = 5.0  # seconds for the other process
ADDED = ("counter", "histogram", "summary")


@contextmanager
def told_at(path: Path, *, counted: Sequence[Collector] = (), looked: Sequence[Looked] = ()) -> Iterator[None]:
    """Serve this process's numbers at a socket for as long as the block lasts, with these besides its own."""
    with collected(counted, looked) as looker:
        asked = Asked(looker)

        class Answer(StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(asked.answer())

        try:
            server = ThreadingUnixStreamServer(str(path), Answer)
        except OSError as error:
            logger.warning("metrics.of_the_web_alone", error=str(error), remedy="set METRICS_PORT, and scrape it too")
            yield
            return
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, name="metrics-socket", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class Asked:
    """Reads what has to be read from the first question on."""

    def __init__(self, looker: Looker) -> None:
        self._looker = looker
        self._lock = Lock()
        self._begun = False

    def answer(self) -> bytes:
        with self._lock:
            if not self._begun:
                self._looker.look()  # the first scrape must be complete, too
                self._looker.start()
                self._begun = True
        return generate_latest(REGISTRY)


def whole_metrics(request: HttpRequest) -> HttpResponse:
    """This process's own numbers, and those of the process that started it, where there is one."""
    own = ExportToDjangoView(request)
    if not settings.METRICS_SOCKET:
        return own
    try:
        whole = added(own.content.decode(), _asked_at(settings.METRICS_SOCKET))
    except (OSError, ValueError) as error:  # it does not answer, or ended in the middle of a line
        logger.warning("metrics.of_the_web_alone", error=str(error), remedy="tried again at the next scrape")
        return own
    own.content = generate_latest(_Families(whole))
    return own


def added(own: str, others: str) -> list[Metric]:
    """Both texts as one: each series once."""
    families = {family.name: family for family in text_string_to_metric_families(own)}
    for family in text_string_to_metric_families(others):
        if family.name not in families:
            families[family.name] = family
        else:
            families[family.name].samples = _both(families[family.name], family)
    return list(families.values())


def _both(own: Metric, other: Metric) -> list[Sample]:
    found = {_series(sample): sample for sample in own.samples}
    for sample in other.samples:
        same = found.setdefault(_series(sample), sample)
        if same is not sample and own.type in ADDED:
            found[_series(sample)] = same._replace(value=same.value + sample.value)
    return list(found.values())


def _series(sample: Sample) -> tuple[str, tuple[tuple[str, str], ...]]:
    return sample.name, tuple(sorted(sample.labels.items()))


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _asked_at(path: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.settimeout(PATIENCE)
        asked.connect(path)
        with asked.makefile("rb") as answer:
            return answer.read().decode()
