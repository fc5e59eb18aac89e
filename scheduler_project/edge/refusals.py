"""The reasons to refuse a request before it gets a thread, and the answers to the client."""

from __future__ import annotations

import json
from enum import Enum
from http import HTTPStatus

from prometheus_client import Counter

from jobs.api.problems import CONTENT_TYPE

DROPPED = Counter(
    "web_requests_dropped", "Requests that the web server refused or gave up, to protect itself", ["reason"]
)
SLOW_READER = "slow_reader"  # the other reasons are the names below
RETRY_AFTER = "1"  # seconds

Header = tuple[bytes, bytes]


class Refusal(Enum):
    """Status and text for the client. The name is the metric's label."""

    TOO_LARGE = 413, "The body is larger than {limit:,} bytes. Send less, or a reference to it."
    BAD_LENGTH = 400, "Content-Length is not a number. Send the body's length in bytes."
    LONG_URL = 414, "The URL is longer than {limit:,} bytes. Send less."
    LONG_HEADER = 431, "The header {name} is longer than {limit:,} bytes. Send less."
    TOO_SLOW = 408, "The body did not arrive in time. Send it again over a faster connection."
    BROKEN_OFF = 400, "The body is incomplete, or its chunks are malformed. Send the complete body."
    TOO_MANY_BODIES = 503, "Too many bodies are being sent from this address. Try again shortly."
    NO_MEMORY = 503, "Too much data is in transit. Try again shortly."
    BUSY = 503, "Too many requests are waiting. Try again shortly."


for reason in (SLOW_READER, *(why.name.lower() for why in Refusal)):
    DROPPED.labels(reason)  # at zero, so that the first is seen as a step


class Refused(Exception):
    def __init__(self, why: Refusal, **known: object) -> None:
        super().__init__(why.name)
        self.why = why
        self.status, text = why.value
        self.detail = text.format(**known)


def refusal(refused: Refused) -> tuple[list[Header], bytes]:
    """Headers and body of the answer, in the same format as the API's own problems."""
    DROPPED.labels(refused.why.name.lower()).inc()
    title = HTTPStatus(refused.status).phrase
    told = {"type": "about:blank", "title": title, "status": refused.status, "detail": refused.detail}
    body = json.dumps(told).encode()
    headers = [
        (b"content-type", CONTENT_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # the rest of the body is not read
    ]
    if refused.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers.append((b"retry-after", RETRY_AFTER.encode()))
    return headers, body
