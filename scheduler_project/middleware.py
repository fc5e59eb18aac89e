"""What happens to every request before it reaches a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseNotFound,
    JsonResponse,
    QueryDict,
)
from django.urls import resolve

WITH_SLASH = ("/admin/", "/static/")  # theirs belong to them
FOR_MACHINES = ("/healthz", "/readyz", "/metrics")
API = "/api/"
NUL = "\x00"
PLAIN = "text/plain; charset=utf-8"
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


def _names_with_nul(asked: QueryDict) -> list[str]:
    """The names of parameters that have a null character, in themselves or in a value."""
    return [name for name, values in asked.lists() if any(NUL in text for text in (name, *values))]


class RefuseNul:
    """No text may contain U+0000, because PostgreSQL cannot keep or compare it: a request with one is refused whole.

    JSON bodies are checked by the API's parsers, which name the field.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        query = request.META.get("QUERY_STRING", "")
        if NUL in query or "%00" in query:
            return self._refused(request, request.GET)
        # Cookies have a spelling for it, a backslash and 000, and the session's is looked up in the database. They come
        # before the path, because the page for what is not found asks who is signed in.
        if any(NUL in value for value in request.COOKIES.values()):
            return HttpResponseBadRequest("A cookie contains a null character (U+0000). Remove it.", content_type=PLAIN)
        if NUL in request.path_info:
            raise Http404
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponse | None:
        """Look into forms too: those of pages, which Django has read already to compare the CSRF token."""
        if request.method != "POST" or request.path_info.startswith(API):
            return None
        return self._refused(request, request.POST) if _names_with_nul(request.POST) else None

    def _refused(self, request: HttpRequest, asked: QueryDict) -> HttpResponse:
        message = "contains a null character (U+0000). Remove it."
        names = [name.replace(NUL, "\N{REPLACEMENT CHARACTER}")[:100] for name in _names_with_nul(asked)]
        detail = "; ".join(f"{name}: {message}" for name in names[:3])
        if not request.path_info.startswith(API):
            return HttpResponseBadRequest(detail, content_type=PLAIN)
        errors = [{"field": name, "message": message} for name in names]
        body = {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": detail, "errors": errors}
        return JsonResponse(body, status=400, content_type="application/problem+json")


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
