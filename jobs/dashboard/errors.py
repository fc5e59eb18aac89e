"""What goes wrong outside a view: a page with the remedy for people, a problem for programs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from jobs.api.problems import page_not_found, page_problem
from jobs.dashboard.windows import guarded

BAD_REQUEST = "The server cannot answer this address. Check its parameters."
NOT_ALLOWED = "Your account lacks a permission that this page needs. Ask an administrator for it."
NO_TOKEN = (
    "The form was sent without a valid CSRF token, and nothing was changed. Go back, reload the page and send the form "
    "again. The browser has to accept cookies from this site."
)
FAILED = "The server failed to answer. The error is in the server's log. Try again, or tell an administrator."


@guarded
def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _is_program(request):
        return page_not_found(request, exception)
    return render(request, "dashboard/not_found.html", status=404)


@guarded
def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _refused(request, "Bad request", BAD_REQUEST, status=400)


@guarded
def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _refused(request, "Not allowed", NOT_ALLOWED, status=403)


@guarded
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _refused(request, "Form refused", NO_TOKEN, status=403)


@guarded
def server_error(request: HttpRequest) -> HttpResponse:
    return _refused(request, "Server error", FAILED, status=500)


def _is_program(request: HttpRequest) -> bool:
    # Browsers ask for HTML by name; what takes anything is a program.
    return request.path.startswith("/api/") or "text/html" not in request.headers.get("Accept", "")


def _refused(request: HttpRequest, what: str, reason: str, *, status: int) -> HttpResponse:
    """Drawn without the request: its user is read from the database, which may be what failed."""
    if _is_program(request):
        return page_problem(status, reason)
    return HttpResponse(
        render_to_string("dashboard/door_refused.html", {"what": what, "reason": reason}), status=status
    )
