"""An ASGI application before a WSGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

from accounts.addresses import address_in
from scheduler_project.edge.answers import Answer, Answers, Send, Wsgi, answer_of
from scheduler_project.edge.bodies import Bodies, Body, Receive, discard
from scheduler_project.edge.environ import Environ, environ_of
from scheduler_project.edge.refusals import Header, Refusal, Refused, refusal
from scheduler_project.edge.threads import Threads

PROBES = ("/readyz", "/metrics")
MAX_DIGITS = 18  # of a Content-Length
ALIVE = b'{"status": "ok"}'
ALIVE_HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(ALIVE)).encode())]


class Told(NamedTuple):
    """An answer that can be sent to several clients."""

    status: int
    headers: list[Header]
    body: bytes

    def answer(self) -> Answer:
        return Answer(self.status, self.headers, BytesIO(self.body), len(self.body))


class Probes:
    """Asks for probes on threads of their own. Who asks while the same is being found out shares its answer."""

    def __init__(self, wsgi: Wsgi) -> None:
        self._wsgi = wsgi
        self._pool = ThreadPoolExecutor(len(PROBES), thread_name_prefix="probes")
        self._asked: dict[tuple[str, bool], asyncio.Future[Told]] = {}

    async def ask(self, environ: Environ) -> Answer:
        asked = environ["PATH_INFO"], "HTTP_X_FORWARDED_FOR" in environ  # which is not told all
        if asked not in self._asked:
            answer = asyncio.get_running_loop().run_in_executor(self._pool, self._ask, environ)
            answer.add_done_callback(lambda _: self._asked.pop(asked))
            self._asked[asked] = answer
        told = await asyncio.shield(self._asked[asked])
        return told.answer()  # a body of its own for each client: it is closed once it is sent

    def _ask(self, environ: Environ) -> Told:
        answer = answer_of(self._wsgi, environ)
        with answer.body:
            return Told(answer.status, answer.headers, answer.body.read())


class Edge:
    def __init__(
        self,
        wsgi: Wsgi,
        *,
        threads: Threads,
        probes: Probes,
        bodies: Bodies,
        answers: Answers,
        max_body: Callable[[str], int],
        on_first_request: Callable[[], None],
        after_transfer: Callable[[int], None],
    ) -> None:
        self._wsgi = wsgi
        self._threads = threads
        self._probes = probes
        self._bodies = bodies
        self._answers = answers
        self._max_body = max_body
        self._after_transfer = after_transfer
        self._on_first_request: Callable[[], None] | None = on_first_request

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if self._on_first_request is not None:
            self._on_first_request()
            self._on_first_request = None
        if scope["path"] == "/healthz" and scope["method"] in ("GET", "HEAD"):
            await send({"type": "http.response.start", "status": 200, "headers": ALIVE_HEADERS})
            await send({"type": "http.response.body", "body": ALIVE})
            return
        try:
            environ = environ_of(scope)
            address = address_in(environ)
            answer = await self._answer(environ, address, receive)
        except Refused as refused:
            headers, body = refusal(refused)
            await send({"type": "http.response.start", "status": refused.status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            await discard(receive)
        else:
            await self._answers.send(send, answer, address)

    async def _answer(self, environ: Environ, address: str, receive: Receive) -> Answer:
        if environ["PATH_INFO"] in PROBES and environ["REQUEST_METHOD"] == "GET":
            return await self._probes.ask(environ | {"wsgi.input": BytesIO()})
        if not has_body(environ):
            return await self._threads.run(address, partial(self._ask, environ | {"wsgi.input": BytesIO()}, 0))
        body = await self._receive(environ, address, receive)
        try:
            # The length that arrived: of a body sent in chunks none was announced.
            whole = environ | {"wsgi.input": body.file, "CONTENT_LENGTH": str(body.size)}
            return await self._threads.run(address, partial(self._ask, whole, body.size))
        finally:
            body.close()

    def _ask(self, environ: Environ, size: int) -> Answer:
        """Ask the application, in one of the threads."""
        answer = answer_of(self._wsgi, environ)
        self._after_transfer(size + answer.size)
        return answer

    async def _receive(self, environ: Environ, address: str, receive: Receive) -> Body:
        limit = self._max_body(environ["PATH_INFO"])
        announced = environ.get("CONTENT_LENGTH", "0")
        if not announced.isdecimal():
            raise Refused(Refusal.BAD_LENGTH)
        if len(announced) > MAX_DIGITS or int(announced) > limit:
            raise Refused(Refusal.TOO_LARGE, limit=limit)
        return await self._bodies.receive(receive, address, limit)


def has_body(environ: Environ) -> bool:
    return environ.get("CONTENT_LENGTH", "0") != "0" or "HTTP_TRANSFER_ENCODING" in environ
