"""Makes an HTTP request, signed, and keeps the answer."""

from __future__ import annotations

import base64
import json
import re
import time
from functools import partial
from typing import Annotated, Any, Literal

from django.conf import settings
from django.utils import timezone
from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, SecretStr, ValidationInfo, field_validator

from execution.outbound import Answer, Deadline, NoAnswer, Refused, Request, Target, exchange, guard_of, read_url
from execution.outbound.patience import asked_wait
from execution.outbound.signing import read_secret, signed_headers
from execution.outbound.tenant_keys import keys_of
from execution.outbound.traced import traced_exchange
from execution.registry import Run, task
from execution.retry import DestinationDown, GiveUpNow, RetryLater
from jobs.documents import storable_text

BETTER_LATER = {408, 425, 429}  # and all from 500 on
AWAY = {502, 503, 504}
WITHOUT_BODY = ("GET", "HEAD")
# Ours to say: how the message is framed, where it goes, and who sent it.
OURS = re.compile(
    r"host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|accept-encoding"
    r"|proxy-.*|webhook-.*|idempotency-key",
    re.IGNORECASE,
)
NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", re.ASCII)
VALUE = re.compile(r"[!-~](?:[ -~\t]{0,7998}[!-~])?|", re.ASCII)
KEPT_HEADERS = ("content-type", "content-length", "date", "etag", "location", "retry-after", "x-request-id")
LONGEST_HEADER = 500  # characters of it that are kept
TOLD = 300  # characters of the body that an error quotes


class TryAgain(Exception):
    """The target answered that it cannot do it now."""


class OutOfOrder(TryAgain, DestinationDown):
    """It answered that it is its own fault: others who ask will hear the same."""


def _reachable(url: str) -> str:
    try:
        _guard().check(read_url(url))
    except Refused as error:
        raise ValueError(str(error)) from None
    return url


def _status(status: int | str) -> int | str:
    good = 200 <= status <= 599 if isinstance(status, int) else re.fullmatch("[2-5]xx", status)
    if not good:
        raise ValueError('must be a status from 200 to 599, or all that begin alike, such as "2xx".')
    return status


class HttpCall(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=500_000)

    url: Annotated[str, AfterValidator(_reachable)] = Field(
        description="http:// or https://, without user and password."
    )
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict, max_length=50)
    body: Any = Field(default=None, description="Text is sent as it is, everything else as JSON.")
    expected: Annotated[list[Annotated[int | str, AfterValidator(_status)]], FailFast()] = Field(
        default=["2xx"], min_length=1, max_length=50, description="Statuses that count as success; any other does not."
    )
    timeout: float | None = Field(
        default=None, ge=0.1, le=300, description="Seconds, from looking up the name to the answer's last byte."
    )
    signing_secret: SecretStr | None = Field(
        default=None, description="To sign with: whsec_ and base64. Without one, the tenant's own secret is used."
    )

    @field_validator("headers")
    @classmethod
    def _sendable(cls, headers: dict[str, str]) -> dict[str, str]:
        seen = set()
        for name, value in headers.items():
            if not NAME.fullmatch(name):
                raise ValueError(f"{name[:100]!r} is no name of a header. Use letters, digits and hyphens.")
            if OURS.fullmatch(name):
                raise ValueError(f"{name} is set by Punctual. Leave it out.")
            if not VALUE.fullmatch(value):
                raise ValueError(f"the value of {name} is not one line of at most 8,000 ASCII characters.")
            if name.lower() in seen:
                raise ValueError(f"{name} is there twice. Names differ by more than upper and lower case.")
            seen.add(name.lower())
        return headers

    @field_validator("signing_secret")
    @classmethod
    def _usable(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None:
            read_secret(secret.get_secret_value())
        return secret

    @field_validator("body")
    @classmethod
    def _goes_along(cls, body: Any, so_far: ValidationInfo) -> Any:
        if body is not None and (method := so_far.data.get("method")) in WITHOUT_BODY:
            raise ValueError(f"a {method} has no body. Leave it out, or use POST.")
        return body

    @property
    def target(self) -> Target:
        return read_url(self.url)

    def content(self) -> tuple[bytes, str]:
        """The body as it is sent, and what kind it is; nothing is of no kind."""
        match self.body:
            case None:
                return b"", ""
            case str():
                return self.body.encode(), "text/plain; charset=utf-8"
            case _:
                return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode(), "application/json"

    def expects(self, status: int) -> bool:
        return status in self.expected or f"{status // 100}xx" in self.expected


# Secrets go to the URL, path and query included: on a shared host these choose who receives the request, and headers
# may say to a proxy where it goes from there.
@task(
    "http_request", payload=HttpCall, destination=lambda call: call.target.origin, secrets_bound_to=("url", "headers")
)
def http_request(call: HttpCall, run: Run) -> dict[str, Any]:
    """Send an HTTP request. Temporary errors are retried, after the delay that the server asks for. Others are not."""
    deadline = Deadline(call.timeout or settings.HTTP_TIMEOUT.total_seconds())
    began = time.monotonic()
    try:
        ask = partial(
            exchange,
            guard=_guard(),
            deadline=deadline,
            keep=settings.HTTP_KEEP_BYTES,
            ca_file=settings.HTTP_CA_FILE,
        )
        answer = traced_exchange(_signed(call, run), ask)
    except Refused as error:
        raise GiveUpNow(str(error)) from None
    if not call.expects(answer.status):
        # These say that nobody is there, which is more than that this request cannot be answered now.
        away = NoAnswer("Whoever should have answered is away.") if answer.status in AWAY else None
        raise _verdict(answer) from away
    return _kept(answer) | {"seconds": round(time.monotonic() - began, 3)}


def _guard() -> Any:
    return guard_of(settings.HTTP_ALLOWED_HOSTS, settings.HTTP_PORTS)


def _signed(call: HttpCall, run: Run) -> Request:
    body, kind = call.content()
    given = {name.lower() for name in call.headers}
    headers = {"User-Agent": "Punctual", "Accept": "*/*"} | ({"Content-Type": kind} if kind else {})
    headers = {name: value for name, value in headers.items() if name.lower() not in given} | call.headers
    headers["Idempotency-Key"] = run.idempotency_key
    headers |= signed_headers(run.idempotency_key, int(time.time()), body, _keys(call, run))
    return Request(call.method, call.target, headers, body)


def _keys(call: HttpCall, run: Run) -> list[bytes]:
    if call.signing_secret is not None:
        return [read_secret(call.signing_secret.get_secret_value())]
    return keys_of(run.tenant_id)


def _verdict(answer: Answer) -> Exception:
    """What an answer that was not expected is raised as."""
    said = storable_text(answer.body[:TOLD].decode(errors="replace")).strip()
    told = f"The target answered {answer.status}{f': {said}' if said else '.'}"
    if answer.status not in BETTER_LATER and answer.status < 500:
        if answer.status < 400 and (place := answer.headers.get("location")):
            told = f"The target answered {answer.status} and points to {place[:TOLD]}. Redirects are not followed."
        return GiveUpNow(told)
    wait = asked_wait(answer.headers, now=timezone.now(), most=settings.HTTP_LONGEST_WAIT)
    again = OutOfOrder(told) if answer.status >= 500 else TryAgain(told)
    if wait is None:
        return again
    later = RetryLater(told, wait)
    later.__cause__ = again
    return later


def _kept(answer: Answer) -> dict[str, Any]:
    text = _text(answer)
    body = base64.b64encode(answer.body).decode() if text is None else text
    headers = {
        name: storable_text(answer.headers[name])[:LONGEST_HEADER] for name in KEPT_HEADERS if name in answer.headers
    }
    return {
        "status": answer.status,
        "headers": headers,
        "body": body,
        "encoding": "base64" if text is None else "text",
        "truncated": answer.truncated,
    }


def _text(answer: Answer) -> str | None:
    """The body as text; None if it is none, or none that every database can keep."""
    body = answer.body
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        if not answer.truncated or error.start < len(body) - 3:
            return None
        text = body[: error.start].decode()  # the cut went through a character
    return None if "\x00" in text else text
