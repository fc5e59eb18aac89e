"""What happens to every request before it reaches a view."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

WITH_SLASH = ("/admin/", "/static/")  # theirs belong to them


class TolerateTrailingSlash:
    """Our paths have no trailing slash; one is forgiven, also for a POST, which a redirect would lose."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if path.endswith("/") and path != "/" and not path.startswith(WITH_SLASH):
            request.path_info = path[:-1]
        return self.get_response(request)
