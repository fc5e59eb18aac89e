"""A real OTLP receiver on loopback: keeps the spans that are exported to it, as what was sent says them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1 import trace_pb2

ERROR = trace_pb2.Status.STATUS_CODE_ERROR


@dataclass(frozen=True)
class Exported:
    """A span as it came."""

    name: str
    service: str
    kind: str
    trace: str
    span: str
    parent: str  # empty for the topmost
    began: int  # nanoseconds
    ended: int
    failed: bool
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    links: list[tuple[str, str]] = field(default_factory=list)  # trace and span of each


class Collector(ThreadingHTTPServer):
    """Answers at `endpoint`. `everything` is the bytes of all that came, for who looks for what should not be there."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Receiver)
        self.spans: list[Exported] = []
        self.everything = b""
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def named(self, name: str) -> list[Exported]:
        """Those of this name, in the order in which they began."""
        return sorted((one for one in list(self.spans) if one.name == name), key=lambda one: one.began)

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class Receiver(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert self.path == "/v1/traces", self.path
        self.server.everything += body
        self.server.spans += _read(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _read(request: ExportTraceServiceRequest) -> list[Exported]:
    return [
        Exported(
            name=span.name,
            service=_attributes(resource.resource.attributes)["service.name"],
            kind=trace_pb2.Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
            trace=span.trace_id.hex(),
            span=span.span_id.hex(),
            parent=span.parent_span_id.hex(),
            began=span.start_time_unix_nano,
            ended=span.end_time_unix_nano,
            failed=span.status.code == ERROR,
            attributes=_attributes(span.attributes),
            events=[(event.name, _attributes(event.attributes)) for event in span.events],
            links=[(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
