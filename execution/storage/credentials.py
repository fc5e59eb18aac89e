"""Whose name requests to S3 are signed in: a key of one's own, or a role that the platform lends for an hour at a time.

A role comes from AWS's token service, for the token that Kubernetes puts into a file (IRSA), or from an agent on the
machine (EKS Pod Identity, ECS). It is fetched anew a while before it ends. While that fails, the old one is used to its
end.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from threading import Lock
from urllib.parse import urlencode, urlsplit

import structlog

logger = structlog.get_logger(__name__)

PATIENCE = 10  # seconds for each answer
MAX_ANSWER = 64 * 1024  # bytes
EARLY = timedelta(minutes=10)  # before the end: what is signed now may arrive later
AGAIN = timedelta(seconds=30)  # after a failure, while the old ones still do
NEVER = datetime.max.replace(tzinfo=UTC)
ECS_AGENT = "http://169.254.170.2"
SESSION = "punctual"


class CredentialsUnavailable(OSError):
    """The platform did not lend us its role. It may do so later."""


@dataclass(frozen=True, slots=True)
class Credentials:
    access_key: str
    secret_key: str
    token: str = ""
    ends_at: datetime | None = None  # None: never


@dataclass(frozen=True, slots=True)
class WebIdentity:
    """IRSA: a role for the token in a file, which Kubernetes renews there."""

    role_arn: str
    token_file: str
    endpoint: str

    def __call__(self) -> Credentials:
        asked = {
            "Action": "AssumeRoleWithWebIdentity",
            "Version": "2011-06-15",
            "RoleArn": self.role_arn,
            "RoleSessionName": SESSION,
            "WebIdentityToken": _read(self.token_file),
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        said = _answer("POST", self.endpoint, body=urlencode(asked), headers=headers)
        names = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")
        # Four values of letters, digits and "+/=:.-", in elements without attributes: no need for a reader of XML.
        found = {name: match[1] for name in names if (match := re.search(rf"<{name}>([^<>&]+)</{name}>", said))}
        return _credentials(found, *names)


@dataclass(frozen=True, slots=True)
class Container:
    """EKS Pod Identity and ECS: an agent on this machine has the role."""

    url: str
    authorization_file: str = ""

    def __call__(self) -> Credentials:
        headers = {"Authorization": _read(self.authorization_file)} if self.authorization_file else {}
        try:
            found = json.loads(_answer("GET", self.url, headers=headers))
        except ValueError as error:
            raise CredentialsUnavailable(f"{self.url} did not answer with JSON: {error}.") from None
        return _credentials(found, "AccessKeyId", "SecretAccessKey", "Token", "Expiration")


class Lent:
    """Credentials that end, fetched when they are needed and again before they end. For all threads."""

    def __init__(self, fetch: Callable[[], Credentials]) -> None:
        self._fetch = fetch
        self._lock = Lock()
        self._held: Credentials | None = None
        self._renew_at = datetime.min.replace(tzinfo=UTC)

    def at(self, now: datetime) -> Credentials:
        with self._lock:
            if self._held is None or now >= self._renew_at:
                self._renew(now)
            assert self._held is not None
            return self._held

    def _renew(self, now: datetime) -> None:
        try:
            self._held = self._fetch()
        except OSError as error:
            if self._held is None or self._held.ends_at is None or now >= self._held.ends_at:
                raise
            logger.warning("s3.role_not_renewed", error=str(error), remedy="tried again; the old one still holds")
            self._renew_at = now + AGAIN
        else:
            ends_at = self._held.ends_at or NEVER
            # One that is lent for less than that is renewed half-way.
            self._renew_at = max(ends_at - EARLY, now + (ends_at - now) / 2)


def role_of(
    *, region: str, role_arn: str, token_file: str, sts: str, url: str, path: str, authorization_file: str
) -> Callable[[], Credentials] | None:
    """How to get the role that the platform's variables offer; None if they offer none."""
    if role_arn and token_file:
        return WebIdentity(role_arn, token_file, sts or f"https://sts.{region}.amazonaws.com")
    if url or path:
        return Container(url or f"{ECS_AGENT}{path}", authorization_file)
    return None


def _read(file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except (OSError, ValueError) as error:
        raise CredentialsUnavailable(f"The token in {file} cannot be read: {error}.") from None


def _credentials(found: dict[str, str], key: str, secret: str, token: str, end: str) -> Credentials:
    try:
        ends_at = datetime.fromisoformat(found[end])
        return Credentials(found[key], found[secret], found[token], ends_at.replace(tzinfo=ends_at.tzinfo or UTC))
    except (KeyError, TypeError, ValueError) as error:
        fault = f"{type(error).__name__}: {error}"
        raise CredentialsUnavailable(f"The answer has no usable credentials ({fault}).") from None


def _answer(method: str, url: str, *, headers: dict[str, str], body: str | None = None) -> str:
    parts = urlsplit(url)
    connection = (
        HTTPSConnection(parts.netloc, timeout=PATIENCE, context=ssl.create_default_context())
        if parts.scheme == "https"
        else HTTPConnection(parts.netloc, timeout=PATIENCE)
    )
    try:
        connection.request(method, f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", body, headers)
        answer = connection.getresponse()
        said = answer.read(MAX_ANSWER).decode(errors="replace")
    except HTTPException as error:
        raise CredentialsUnavailable(f"{url} did not answer ({type(error).__name__}: {error}).") from None
    finally:
        connection.close()
    if answer.status != 200:
        # The code alone: what else is said may repeat what was sent.
        code = re.search(r"<Code>(\w+)</Code>", said)
        raise CredentialsUnavailable(f"{url} answered {answer.status}{f' {code[1]}' if code else ''}.")
    return said
