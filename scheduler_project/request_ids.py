"""Which request something came of: taken from the caller or made here, and told on every line and in the answer.

What a request sets going keeps its id, so that an executor's lines on another machine name it too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from structlog.contextvars import bound_contextvars, get_contextvars

HEADER = "X-Request-ID"
LONGEST = 64  # characters: that of any proxy's id fits
SAFE = re.compile(rf"[A-Za-z0-9._:/+=-]{{1,{LONGEST}}}")  # nothing that could end a line, a quote or a header


def current_request_id() -> str | None:
    """The id of the request that is being answered; None outside of any."""
    return get_contextvars().get("request_id")


def accepted_or_new(given: str | None) -> str:
    """The caller's id if it is fit to be repeated everywhere, else one of ours: a header is no reason to refuse."""
    return given if given is not None and SAFE.fullmatch(given) else uuid4().hex


class RequestIds:
    """The outermost middleware: whatever the others have to say is said within the request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = accepted_or_new(request.headers.get(HEADER))
        with bound_contextvars(request_id=request_id):
            response = self.get_response(request)
        response.headers[HEADER] = request_id
        return response
