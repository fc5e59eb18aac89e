"""Receives request bodies: within a size, a deadline and a minimum rate, and few at once from one address."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import Any

from scheduler_project.edge.holding import Holder, Holding, end_now
from scheduler_project.edge.refusals import Refusal, Refused

IN_MEMORY = 1024 * 1024  # bytes of a body or an answer; larger ones are written to a temporary file
LINGER = 2.0  # seconds that a refused body is read on, and thrown away: a client that is still sending reads no answer

Receive = Callable[[], Awaitable[dict[str, Any]]]


class Body:
    """A complete body. Its bytes are accounted for until `close`."""

    def __init__(self, holding: Holding, holder: Holder) -> None:
        self.file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  closed by `close`
        self.size = 0
        self._holding = holding
        self._holder = holder

    def add(self, chunk: bytes) -> None:
        self.file.write(chunk)
        self.size += len(chunk)
        self._holding.grow(self._holder, len(chunk))

    def keep(self) -> None:
        """From now on it is being answered."""
        self.file.seek(0)
        self._holder.drop = None

    def close(self) -> None:
        self._holding.release(self._holder)
        self.file.close()


class Bodies:
    def __init__(self, holding: Holding, *, patience: float, rate: int, per_address: int) -> None:
        self._holding = holding
        self._patience = patience
        self._rate = rate
        self._per_address = per_address
        self._receiving: Counter[str] = Counter()

    async def receive(self, receive: Receive, address: str, limit: int) -> Body:
        """The whole body, of at most `limit` bytes."""
        if self._receiving[address] >= self._per_address:
            raise Refused(Refusal.TOO_MANY_BODIES)
        self._receiving[address] += 1
        try:
            return await self._within_time(receive, address, limit)
        finally:
            self._receiving[address] -= 1
            if not self._receiving[address]:
                del self._receiving[address]

    async def _within_time(self, receive: Receive, address: str, limit: int) -> Body:
        now = asyncio.get_running_loop().time
        begun = now()
        deadline = asyncio.timeout_at(begun + self._patience)
        holder = Holder(address, drop=lambda: end_now(deadline))
        body = Body(self._holding, holder)
        try:
            async with deadline:
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refused(Refusal.BROKEN_OFF)
                    if body.size + len(message["body"]) > limit:
                        raise Refused(Refusal.TOO_LARGE, limit=limit)
                    body.add(message["body"])
                    if holder.dropped:
                        raise Refused(Refusal.NO_MEMORY)
                    if not message["more_body"]:
                        body.keep()
                        return body
                    deadline.reschedule(begun + self._patience + body.size / self._rate)
        except TimeoutError:
            body.close()
            raise Refused(Refusal.NO_MEMORY if holder.dropped else Refusal.TOO_SLOW) from None
        except BaseException:
            body.close()
            raise


async def discard(receive: Receive) -> None:
    """Read on for a moment: closing while the client sends would cost it the answer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            while (message := await receive())["type"] == "http.request" and message["more_body"]:
                pass
