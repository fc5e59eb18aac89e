"""A bounded pool of threads with a bounded queue, in which addresses take turns."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from scheduler_project.edge.refusals import Refusal, Refused

Result = TypeVar("Result")
Call = tuple[Callable[[], Any], asyncio.Future[Any]]


def work(calls: SimpleQueue[Call]) -> None:
    """Make calls, one after the other, and hand their outcomes to the event loop."""
    while True:
        call, answer = calls.get()
        try:
            settle = partial(answer.set_result, call())
        except BaseException as error:
            settle = partial(answer.set_exception, error)
        answer.get_loop().call_soon_threadsafe(settle)
        del call, answer, settle  # what they hold is freed now, not when the next call comes


class Threads:
    """Used from the event loop alone."""

    def __init__(self, count: int, max_waiting: int) -> None:
        self._calls: SimpleQueue[Call] = SimpleQueue()
        for number in range(count):
            Thread(target=work, args=(self._calls,), name=f"web-{number}", daemon=True).start()
        self._idle = count
        self._max_waiting = max_waiting
        self._waiting = 0
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def run(self, address: str, call: Callable[[], Result]) -> Result:
        if self._idle:
            self._idle -= 1
        else:
            await self._turn(address)
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._calls.put((call, answer))
        try:
            return await answer
        finally:
            self._pass_on()

    def _turn(self, address: str) -> asyncio.Future[None]:
        turn = asyncio.get_running_loop().create_future()
        self._lines.setdefault(address, deque()).append(turn)
        self._waiting += 1
        if self._waiting > self._max_waiting:
            # The longest line loses its last: an address that sends little gets in, however much others send.
            longest = max(self._lines, key=lambda one: len(self._lines[one]))
            self._take(longest, last=True).set_exception(Refused(Refusal.BUSY))
        return turn

    def _pass_on(self) -> None:
        if not self._lines:
            self._idle += 1
            return
        address = next(iter(self._lines))
        turn = self._take(address)
        if address in self._lines:
            self._lines.move_to_end(address)
        turn.set_result(None)

    def _take(self, address: str, *, last: bool = False) -> asyncio.Future[None]:
        line = self._lines[address]
        turn = line.pop() if last else line.popleft()
        if not line:
            del self._lines[address]
        self._waiting -= 1
        return turn
