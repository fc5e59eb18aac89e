"""What happens to every request before it reaches a view."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.urls import resolve

WITH_SLASH = ("/admin/", "/static/")  # theirs belong to them
FOR_MACHINES = ("/healthz", "/readyz", "/metrics")
INSIDE_ONLY = ("/readyz", "/metrics")  # they name servers, and how much there is of everything


class TolerateTrailingSlash:
    """Our paths have no trailing slash; one is forgiven, also for a POST, which a redirect would lose."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if path.endswith("/") and path != "/" and not path.startswith(WITH_SLASH):
            request.path_info = path[:-1]
        return self.get_response(request)


class AnswerMachines:
    """Probes and Prometheus ask from inside, without TLS, and call us by an address that no list of hosts can hold.

    So what they ask for is answered before the host is checked and HTTPS demanded. What came through a proxy came from
    outside: it learns whether we live, and nothing else.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if path not in FOR_MACHINES:
            return self.get_response(request)
        if path in INSIDE_ONLY and "HTTP_X_FORWARDED_FOR" in request.META:
            return HttpResponseNotFound()  # bare: a page would want to know who is asking
        return resolve(path).func(request)
