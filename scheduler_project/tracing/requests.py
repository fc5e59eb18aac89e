"""A span for every request that a web process answers, in the caller's trace where it names one."""

from __future__ import annotations

import re
from collections.abc import Callable
from multiprocessing.util import Finalize

from django.http import HttpRequest, HttpResponse
from opentelemetry.trace import StatusCode, get_current_span

from scheduler_project import tracing
from scheduler_project.middleware import FOR_MACHINES
from scheduler_project.request_ids import current_request_id
from scheduler_project.tracing.places import read_place

UNTRACED = (*FOR_MACHINES, "/static/")  # asked for all the time, and nobody wonders what became of it
FAULTS = 500  # and above: what is ours. A client's mistake is no error of the span
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")  # as paths have them, and as regular expressions do


def written(route: str) -> str:
    """A route as people write it: /api/v1/jobs/{pk}."""
    return "/" + PARAMETER.sub(lambda found: f"{{{found[1] or found[2]}}}", route).replace("^", "").rstrip("$")


class TraceRequests:
    """In the settings only where tracing is on. Tells routes, not paths: those are few, and hold nothing secret."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        tracing.start("web")
        Finalize(None, tracing.stop, exitpriority=0)  # a server's workers are forked, and those skip what atexit has

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if tracing.active is None or request.path_info.startswith(UNTRACED):
            return self.get_response(request)
        method = request.method or ""
        told = {"http.request.method": method, "punctual.request_id": current_request_id() or ""}
        caller = read_place(request.headers.get("traceparent"))
        with tracing.active.span(method, kind="server", parent=caller, attributes=told) as span:
            response = self.get_response(request)
            span.set_attribute("http.response.status_code", response.status_code)
            if (match := request.resolver_match) is not None:
                route = written(match.route)
                span.update_name(f"{method} {route}")
                span.set_attribute("http.route", route)
            if response.status_code >= FAULTS:
                span.set_attribute("error.type", str(response.status_code))
                span.set_status(StatusCode.ERROR)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> None:
        """Its type alone: what a database complains of has values in it. The log has all, with the trace's id."""
        if tracing.active is not None:
            tracing.active.fail(get_current_span(), type(error).__name__)
