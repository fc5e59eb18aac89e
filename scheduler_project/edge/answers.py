"""Gathers what a WSGI application answers, and sends it at the pace of its reader.

An answer is gathered in full before any of it is sent. So a thread is busy for as long as the application computes,
however slowly the client reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from scheduler_project.edge.bodies import IN_MEMORY
from scheduler_project.edge.environ import Environ
from scheduler_project.edge.holding import Holder, Holding, end_now
from scheduler_project.edge.refusals import DROPPED, SLOW_READER, Header

PIECE = 32 * 1024  # bytes given to the server at a time; it takes a few, and more once the client has read those
BODILESS = (204, 304)

Send = Callable[[dict[str, Any]], Awaitable[None]]
Wsgi = Callable[[Environ, Callable[..., Any]], Any]


class Answer:
    def __init__(self, status: int, headers: list[Header], body: IO[bytes], size: int) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.size = size


def answer_of(application: Wsgi, environ: Environ) -> Answer:
    """Ask a WSGI application, in a thread that it may block."""
    started: list[tuple[str, list[tuple[str, str]]]] = []
    body = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  closed when it is sent

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], Any]:
        started[:] = [(status, headers)]  # nothing is sent yet: the latest counts
        return body.write

    chunks = application(environ, start_response)
    try:
        for chunk in chunks:
            body.write(chunk)
        size = body.tell()
        body.seek(0)
    except BaseException:
        body.close()
        raise
    finally:
        if hasattr(chunks, "close"):
            chunks.close()
    [(line, told)] = started
    status = int(line[:3])
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in told]
    if status not in BODILESS and all(name != b"content-length" for name, _ in headers):
        headers.append((b"content-length", str(size).encode()))
    return Answer(status, headers, body, size)


class Answers:
    def __init__(self, holding: Holding, *, patience: float, rate: int) -> None:
        self._holding = holding
        self._patience = patience
        self._rate = rate

    async def send(self, send: Send, answer: Answer, address: str) -> None:
        with answer.body:
            await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
            if answer.size <= PIECE:
                await send({"type": "http.response.body", "body": answer.body.read()})
            else:
                await self._in_pieces(send, answer, address)

    async def _in_pieces(self, send: Send, answer: Answer, address: str) -> None:
        now = asyncio.get_running_loop().time
        begun = now()
        deadline = asyncio.timeout_at(begun + self._patience)
        holder = Holder(address, drop=lambda: end_now(deadline))
        try:
            async with deadline:
                self._holding.grow(holder, answer.size)  # which may drop this answer itself
                sent = 0
                while not holder.dropped and (piece := answer.body.read(PIECE)):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    sent += len(piece)
                    deadline.reschedule(begun + self._patience + sent / self._rate)
                if sent < answer.size:
                    raise TimeoutError
                await send({"type": "http.response.body", "body": b""})
        except TimeoutError:
            # What is missing of its Content-Length makes the server close the connection.
            DROPPED.labels(SLOW_READER).inc()
        finally:
            self._holding.release(holder)
