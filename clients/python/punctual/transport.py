"""Asks, waits, and asks again: what every call has in common.

A request is repeated only where that can do no harm: it reads, it ends in the same state whoever repeats it, or it
carries an idempotency key. Otherwise an answer that was lost is the caller's to find out about.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

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
        self._http = httpx.Client(base_url=address.rstrip("/") + API, timeout=timeout, follow_redirects=False)
        self._tries = tries
        self._sleep = sleep
        self._sign_in = sign_in
        if tenant:
            self._http.headers["X-Tenant-ID"] = tenant
        if key:
            self._http.headers["Authorization"] = f"Api-Key {key}"
        elif token:
            self._http.headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        self._http.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """The answer, if it is a good one; otherwise the error that it tells of."""
        if self._sign_in and "Authorization" not in self._http.headers:
            self._get_token()
        answer = self._answer(method, path, body, query, headers)
        if answer.status_code == 401 and self._sign_in:
            self._get_token()  # it has run out, or was revoked
            answer = self._answer(method, path, body, query, headers)
        return _good(answer)

    def told(self, method: str, path: str, **details: Any) -> Any:
        """What the answer says."""
        return self.ask(method, path, **details).json()

    def _get_token(self) -> None:
        assert self._sign_in is not None
        username, password = self._sign_in
        self._http.headers.pop("Authorization", None)
        answer = self._answer("POST", "/auth/token", {"username": username, "password": password}, None, None)
        self._http.headers["Authorization"] = f"Bearer {_good(answer).json()['access']}"

    def _answer(
        self, method: str, path: str, body: Any, query: Mapping[str, Any] | None, headers: Mapping[str, str] | None
    ) -> httpx.Response:
        tries = self._tries if method in REPEATABLE or KEY_HEADER in (headers or {}) else 1
        answer: httpx.Response | None = None
        for number in range(1, tries + 1):
            try:
                answer = self._http.request(method, path, json=body, params=_sent(query), headers=dict(headers or {}))
                if answer.status_code not in PASSING or number == tries:
                    return answer
            except httpx.TransportError as error:
                answer = None
                if number == tries:
                    raise Unreachable(
                        f"{self._http.base_url} does not answer ({type(error).__name__}: {error}). Is it running?"
                    ) from error
            self._sleep(_pause(number, answer))
        raise AssertionError("unreachable")


def _sent(query: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (query or {}).items() if value is not None}


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
