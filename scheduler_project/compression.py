"""Compresses answers where it saves more than it costs."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

MIN_BYTES = 1400  # less fits into one packet as it is
COMPRESSED = ("text/", "application/json", "application/problem+json", "application/javascript", "image/svg+xml")


class CompressAnswers(GZipMiddleware):
    """Django's, for texts that are long enough.

    Django adds random bytes to each compressed answer, and masks the CSRF token of a page anew each time: so the length
    of a page does not tell a stranger what secrets it has (BREACH). Secrets that the API tells are in short answers,
    which are not compressed, and no other site can have a browser ask for them: the API takes no cookie.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return super().process_response(request, response) if worthwhile(response) else response


def worthwhile(response: HttpResponseBase) -> bool:
    # A compressed answer has a weak tag, which `If-Match` refuses: nobody could change what they have seen.
    tagged = response.headers.get("ETag", "").startswith('"')
    text = response.headers.get("Content-Type", "").startswith(COMPRESSED)
    return text and not tagged and not response.streaming and len(response.content) >= MIN_BYTES  # type: ignore[attr-defined]
