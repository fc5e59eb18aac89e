"""Asks, waits, and asks again: what every call has in common.

A request is repeated only where that can do no harm: it reads, it ends in the same state whoever repeats it, or it
carries an idempotency key. Otherwise an answer that was lost is the caller's to find out about.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx

from punctual.errors import KINDS, Refused, Unreachable
from punctual.models import Fault

API = "/api/v1"
TRIES = 5
FIRST_PAUSE = 0.2  # seconds, doubled each time
LONGEST_PAUSE = 30.0  # seconds, also where the server asks for more
PASSING = frozenset({429, 502, 503, 504})  # answers that another try may not get
REPEATABLE = frozenset({"GET", "HEAD", "DELETE"})
KEY_HEADER = "Idempotency-Key"

Query = Mapping[str, Any] | Sequence[tuple[str, Any]]


class Transport:
    def __init__(
        self,
        address: str,
        *,
        key: str | None,
        token: str | None,
        sign_in: tuple[str, str] | None,
        tenant: str | None,
        timeout: float,
        tries: int = TRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = httpx.Client(base_url=_address(address) + API, timeout=timeout, follow_redirects=False)
        self._tries = tries
        self._sleep = sleep
        self._sign_in = sign_in
        if tenant:
            self._http.headers["X-Tenant-ID"] = _header("tenant", tenant)
        if key:
            self._http.headers["Authorization"] = f"Api-Key {_header('key', key)}"
        elif token:
            self._http.headers["Authorization"] = f"Bearer {_header('token', token)}"

    def close(self) -> None:
        self._http.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """The answer, if it is a good one; otherwise the error that it tells of."""
        headers = {name: _header(name, value) for name, value in (headers or {}).items()}
        if self._sign_in and "Authorization" not in self._http.headers:
            self._get_token()
        answer = self._answer(method, path, body, query, headers)
        if answer.status_code == 401 and self._sign_in:
            self._get_token()  # it has run out, or was revoked
            answer = self._answer(method, path, body, query, headers)
        return _good(answer)

    def told(self, method: str, path: str, **details: Any) -> Any:
        """What the answer says."""
        return content(self.ask(method, path, **details))

    def _get_token(self) -> None:
        assert self._sign_in is not None
        username, password = self._sign_in
        self._http.headers.pop("Authorization", None)
        answer = self._answer("POST", "/auth/token", {"username": username, "password": password}, None, None)
        self._http.headers["Authorization"] = f"Bearer {content(_good(answer))['access']}"

    def _answer(
        self, method: str, path: str, body: Any, query: Query | None, headers: Mapping[str, str] | None
    ) -> httpx.Response:
        tries = self._tries if method in REPEATABLE or KEY_HEADER in (headers or {}) else 1
        sent: dict[str, Any] = {"params": _sent(query), "headers": dict(headers or {})}
        if body is not None:
            sent["content"] = json.dumps(body, default=_plain, allow_nan=False)
            sent["headers"]["Content-Type"] = "application/json"
        answer: httpx.Response | None = None
        for number in range(1, tries + 1):
            try:
                answer = self._http.request(method, path, **sent)
                if answer.status_code not in PASSING or number == tries:
                    return answer
            except httpx.RequestError as error:
                answer = None
                if number == tries:
                    raise Unreachable(
                        f"{self._http.base_url} does not answer ({type(error).__name__}: {error}). Is it running?"
                    ) from error
            self._sleep(_pause(number, answer))
        raise AssertionError("unreachable")


def content(answer: httpx.Response) -> dict[str, Any]:
    """What a good answer says, as JSON."""
    try:
        told = answer.json()
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise Unreachable(f"{answer.url} answered {answer.status_code}, not as Punctual does.")
    return told


def segment(value: object) -> str:
    """One segment of a path, which must be an id: `..` or `?` would ask for something else."""
    text = str(getattr(value, "id", value))
    if not (text.isascii() and text.replace("-", "").replace("_", "").isalnum()):
        raise ValueError(f"{text!r} is not an id. Take it from a list, such as `punctual.jobs.list()`.")
    return text


def _address(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise ValueError(f"{text!r} is not an address: {error}.") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"{text!r} is not an address. Write it as https://punctual.example.com.")
    return text.rstrip("/")


def _header(name: str, value: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise ValueError(f"{name}: only printable ASCII characters are allowed. Is there a line break at its end?")
    return value


def _sent(query: Query | None) -> list[tuple[str, Any]]:
    """The pairs of a query. A list stands for a name that is repeated; what is None is left out."""
    pairs = query.items() if isinstance(query, Mapping) else query or ()
    several = [(name, value if isinstance(value, list | tuple) else [value]) for name, value in pairs]
    return [(name, _plain_or_same(one)) for name, values in several for one in values if one is not None]


def _plain_or_same(value: Any) -> Any:
    return _plain(value) if isinstance(value, datetime | UUID) else value


def _plain(value: Any) -> str:
    """What JSON has no type for, as the server reads it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be sent: {value!r} is not JSON.")


def _pause(tries: int, answer: httpx.Response | None) -> float:
    asked = answer.headers.get("Retry-After", "") if answer is not None else ""
    if asked.isdigit():
        return min(LONGEST_PAUSE, float(asked))
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (tries - 1)) * random.uniform(0.5, 1.0)


def _good(answer: httpx.Response) -> httpx.Response:
    if answer.is_success:
        return answer
    try:
        told = answer.json()
        detail, errors = str(told["detail"]), told.get("errors") or []
    except (ValueError, KeyError, TypeError):
        raise Unreachable(f"{answer.url} answered {answer.status_code}, not as Punctual does.") from None
    if answer.status_code == 401:
        detail += " Give the client a key, a token, or a username and a password."
    kind = KINDS.get(answer.status_code, Refused)
    raise kind(answer.status_code, detail, [Fault.read(error) for error in errors])
