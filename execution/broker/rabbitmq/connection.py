"""One connection to RabbitMQ: made when needed, noticed when lost, made again with patience.

pika does not reconnect by itself. A broker that is away is not hammered either: until a
jittered pause is over, every use fails at once with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from typing import Any

import structlog
from pika.adapters.select_connection import SelectConnection

from execution.broker.base import BrokerError, BrokerUnavailable
from execution.broker.rabbitmq.calls import Calls, Start
from execution.broker.rabbitmq.loop import LoopThread
from execution.broker.rabbitmq.parameters import CLOSE_TIMEOUT, parameters
from execution.broker.rabbitmq.patience import Patience
from execution.broker.rabbitmq.refusals import describe

logger = structlog.get_logger(__name__)


class Link:
    """A connection and the thread that serves it.

    It is made at first use, and again at the first use after it was lost; with `keep`, by
    itself. `on_open` and `on_lost` run on the link's thread, as does every method below the
    line: they share their state without a lock.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        keep: bool = False,
        on_open: Callable[[SelectConnection], None] = lambda connection: None,
        on_lost: Callable[[BrokerUnavailable], None] = lambda error: None,
    ) -> None:
        self._params = parameters(url, name)
        self._where = f"{self._params.host}:{self._params.port}"
        self._log = logger.bind(connection=name, broker=self._where)
        self._keep = keep
        self._on_open = on_open
        self._on_lost = on_lost
        self._thread = LoopThread(
            name,
            on_start=self._start_afresh,
            on_fault=self.drop,
            on_end=partial(self._fail_all, "it was closed"),
        )
        self._patience = Patience()
        self._reason = "not connected yet"
        self._forget()

    def _forget(self) -> None:
        self._connection: SelectConnection | None = None
        self._opened_at: float | None = None
        self._closing = False
        self._calls = Calls()

    def _start_afresh(self) -> None:
        """Keep nothing of an earlier thread: after a fork it lives on in the parent."""
        if self._connection is not None:
            self._on_lost(self._unavailable("it was left behind"))
        self._forget()

    def ask(self, start: Start, *, timeout: float) -> Any:
        """Run `start(connection, future)` on the link's thread, and return what the future comes to.

        A broker that has not answered in time is taken for gone: the connection is dropped.
        """
        future = self.call(start)
        done, _ = wait([future], timeout)
        if not done:
            self.post(partial(self.drop, f"no answer within {timeout:g} s"))
            done, _ = wait([future], CLOSE_TIMEOUT)
        if not done:
            raise self._unavailable("its thread does not answer")
        try:
            return future.result()
        except BrokerError:
            raise
        except Exception as error:  # pika's own: out of channels, say
            raise self._unavailable(describe(error)) from error

    def call(self, start: Start) -> Future[Any]:
        """Have `start(connection, future)` run once there is a connection. Losing it fails the future."""
        future: Future[Any] = Future()
        self.post(partial(self._begin, start, future))
        return future

    def post(self, function: Callable[[], None]) -> None:
        """Have `function` run on the link's thread soon, connected or not."""
        self._thread.post(function)

    def connect(self) -> None:
        """Start connecting without asking anything."""
        self.post(self._connect_if_due)

    def close(self) -> None:
        """Say goodbye and stop the thread. The next use starts anew."""
        self._thread.close(self._say_goodbye)

    # ---- on the link's thread ----

    def later(self, seconds: float, function: Callable[[], None]) -> None:
        """Have `function` run on this thread after a while; not at all if the thread ends before."""
        self._thread.ioloop.call_later(seconds, function)

    def drop(self, reason: str) -> None:
        """Give the connection up without waiting for the broker to agree."""
        connection = self._connection
        if connection is not None:
            self._lost(reason)
            _part(connection)

    def _begin(self, start: Start, future: Future[Any]) -> None:
        self._connect_if_due()
        if self._connection is None:
            future.set_exception(self._unavailable(self._reason))
        elif self._opened_at is None:
            self._calls.hold(start, future)
        else:
            self._calls.run(start, self._connection, future)

    def _connect_if_due(self) -> None:
        if self._connection is not None or self._closing or not self._patience.is_over:
            return
        try:
            self._connection = SelectConnection(
                self._params,
                on_open_callback=self._opened,
                on_open_error_callback=self._ended,
                on_close_callback=self._ended,
                custom_ioloop=self._thread.ioloop,
            )
        except Exception as error:  # out of descriptors, say: counts as a failed try
            self._lost(describe(error))

    def _opened(self, connection: SelectConnection) -> None:
        was_dropped = connection is not self._connection
        if was_dropped:
            return
        self._opened_at = time.monotonic()
        self._log.info("broker.connected", failures=self._patience.failures)
        connection.add_on_connection_blocked_callback(
            lambda _, frame: self._log.warning("broker.blocked", reason=frame.method.reason)
        )
        self._on_open(connection)
        self._calls.release(connection)

    def _ended(self, connection: SelectConnection, error: BaseException) -> None:
        if connection is self._connection:  # otherwise it was dropped before
            self._lost(describe(error))
        if self._closing:
            self._thread.ioloop.stop()

    def _lost(self, reason: str) -> None:
        opened_at, self._opened_at, self._connection = self._opened_at, None, None
        if not self._closing:
            lived = 0.0 if opened_at is None else time.monotonic() - opened_at
            pause = self._patience.failed(lived=lived)
            if opened_at is not None:
                self._log.warning("broker.connection_lost", reason=reason)
            elif self._patience.failures == 1:
                self._log.warning("broker.unreachable", reason=reason)
            if self._keep:
                self.later(pause + 0.001, self._connect_if_due)
        self._fail_all(reason)

    def _fail_all(self, reason: str) -> None:
        self._reason = reason
        error = self._unavailable(reason)
        self._on_lost(error)
        self._calls.fail(error)

    def _say_goodbye(self) -> None:
        self._closing = True
        self._patience.reset()
        if self._connection is None:
            self._thread.ioloop.stop()
        else:
            self.later(CLOSE_TIMEOUT, self._thread.ioloop.stop)
            _part(self._connection)

    def _unavailable(self, reason: str) -> BrokerUnavailable:
        return BrokerUnavailable(f"RabbitMQ at {self._where} is out of reach: {reason}")


def _part(connection: SelectConnection) -> None:
    if not (connection.is_closing or connection.is_closed):
        connection.close()
