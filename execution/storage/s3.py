"""A Django storage on S3, or on what speaks like it: as much of it as files need that are written once and read whole.

Of our own: four kinds of requests do not need boto3, which also holds python-dateutil below version 3. Buckets are
addressed by path, which every such server understands. Nothing is retried here: a task is.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from urllib.parse import quote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.core.files import File
from django.core.files.storage import Storage

from execution.storage.credentials import Credentials, Lent, role_of
from execution.storage.signature import Signer

PATIENCE = 30  # seconds for each answer
IN_MEMORY = 1024 * 1024  # bytes of a file that is read; the rest goes to this machine's disk
TOLD = 300  # bytes of a refusal


class StorageUnavailable(OSError):
    """The storage did not do it. It may be better later."""


class S3Storage(Storage):
    def __init__(
        self,
        *,
        bucket: str,
        endpoint: str,
        region: str,
        access_key: str,
        secret_key: str,
        prefix: str = "",
        platform: Mapping[str, str] | None = None,
    ) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ImproperlyConfigured(
                f"S3_ENDPOINT={endpoint!r} is no URL such as https://s3.eu-central-1.amazonaws.com."
            )
        role = role_of(region=region, **platform) if platform else None
        if bool(access_key) != bool(secret_key) or not (access_key or role):
            raise ImproperlyConfigured(
                "S3_BUCKET is set, but S3_ACCESS_KEY and S3_SECRET_KEY are not, and the platform provides no role "
                "(AWS_ROLE_ARN with AWS_WEB_IDENTITY_TOKEN_FILE, or AWS_CONTAINER_CREDENTIALS_FULL_URI). Set both keys."
            )
        self._secured = parts.scheme == "https"
        self._host = parts.netloc
        self._root = f"{parts.path.rstrip('/')}/{bucket}/{prefix}"
        self._region = region
        own = Credentials(access_key, secret_key)
        self._credentials: Callable[[datetime], Credentials] = lambda now: own
        if role and not access_key:
            self._credentials = Lent(role).at

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name  # names are random ids already: asking for each whether it is taken is a request too many

    def exists(self, name: str) -> bool:
        with self._asked("HEAD", name, allowed=(200, 404)) as answer:
            return answer.status == 200

    def size(self, name: str) -> int:
        with self._asked("HEAD", name) as answer:
            return int(answer.headers["Content-Length"])

    def delete(self, name: str) -> None:
        with self._asked("DELETE", name, allowed=(200, 204, 404)):
            pass

    def _open(self, name: str, mode: str = "rb") -> File:
        file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 -- whoever opens it closes it
        with self._asked("GET", name) as answer:
            copyfileobj(answer, file)
            if answer.length:
                raise StorageUnavailable(f"S3 broke off {answer.length:,} bytes before the end of {name}.")
        file.seek(0)
        return File(file, name)

    def _save(self, name: str, content: File) -> str:
        content.seek(0)
        with self._asked("PUT", name, body=content.read()):
            return name

    @contextmanager
    def _asked(
        self, method: str, name: str, *, body: bytes = b"", allowed: tuple[int, ...] = (200,)
    ) -> Iterator[HTTPResponse]:
        path = quote(self._root + name, safe="/-_.~")
        now = datetime.now(UTC)
        lent = self._credentials(now)
        signer = Signer(lent.access_key, lent.secret_key, self._region, lent.token)
        headers = signer.headers(method, self._host, path, body, now)
        connection = self._connection()
        try:
            connection.request(method, path, body or (b"" if method == "PUT" else None), headers)
            answer = connection.getresponse()
            if answer.status == 404 and 404 not in allowed:
                raise FileNotFoundError(f"S3 has no {name}.")
            if answer.status not in allowed:
                said = answer.read(TOLD).decode(errors="replace")
                raise StorageUnavailable(f"S3 answered {answer.status} to {method} {name}: {said}")
            yield answer
        except HTTPException as error:
            raise StorageUnavailable(f"S3 did not answer {method} {name} ({type(error).__name__}: {error}).") from error
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        if self._secured:
            return HTTPSConnection(self._host, timeout=PATIENCE, context=ssl.create_default_context())
        return HTTPConnection(self._host, timeout=PATIENCE)
