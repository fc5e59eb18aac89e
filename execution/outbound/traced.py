"""A span for a request to the outside, which the request names to whoever answers it.

Told are the host and the status: paths, queries, headers and bodies may hold what is secret.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from execution.outbound.exchange import Answer, Request
from scheduler_project import tracing

HEADER = "traceparent"
FAULTS = 400  # and above: for whoever asks, both kinds of errors are one


def traced_exchange(request: Request, ask: Callable[[Request], Answer]) -> Answer:
    """What `ask` answers. A trace that the request's own headers name stays theirs."""
    if (active := tracing.active) is None:
        return ask(request)
    told = {
        "http.request.method": request.method,
        "url.scheme": request.target.scheme,
        "server.address": request.target.host,
        "server.port": request.target.port,
    }
    with active.span(request.method, kind="client", attributes=told) as span:
        if not any(name.lower() == HEADER for name in request.headers):
            place = str(active.current_place())
            request = replace(request, headers={**request.headers, HEADER: place})
        answer = ask(request)
        span.set_attribute("http.response.status_code", answer.status)
        if answer.status >= FAULTS:
            active.fail(span, str(answer.status))
    return answer
