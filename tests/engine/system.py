"""Poller, executor and recoverer driven by hand, and the tests' own names on the servers wiped."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Thread

from django.conf import settings
from django.db import connections

from execution.executor import Executor
from execution.processes import make_executor, make_recoverer
from scheduling.processes import make_poller
from tests.servers import names

OURS = ("record", "http_request", "image_thumbnail", "send_email")
OTHERS = ("resize_video", "transcribe", "django.default", "django.mails")  # as tests.settings has them
CHORES = ("nap", "loop", "stubborn", "crash", "exit", "alone", "together", "tidy", "talk")  # tests.chores
DEMO = ("demo_ping", "demo_report", "demo_sync", "demo_charge")  # jobs.demo
TASKS = (*OURS, *OTHERS, *CHORES, *DEMO, "nothing")  # and the benchmarks' own
PATIENCE = 20.0  # seconds a test waits for something that should happen at once


class System:
    def __init__(self) -> None:
        self.poller = make_poller()
        self.recoverer = make_recoverer()
        self._executor: Executor | None = None

    @property
    def executor(self) -> Executor:
        if self._executor is None:
            self._executor = make_executor()
            self._executor.start()
        return self._executor

    def round(self) -> None:
        """One tick of each, with the executor's outcomes written."""
        self.poller.tick()
        self.recoverer.tick()
        self.executor.tick(wait=timedelta(milliseconds=50))
        self.executor.drain(timedelta(seconds=PATIENCE))

    def run_until(self, happened: Callable[[], object]) -> None:
        """Rounds until `happened`, or the test fails."""
        deadline = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < deadline, "it did not happen in time"
            self.round()

    def stop(self) -> None:
        if self._executor is not None:
            self._executor.stop(timedelta(seconds=5))


def together(work: Callable[[], None], count: int = 4) -> None:
    """Run `work` in several threads at the same moment, and let none of them fail unnoticed."""
    start, errors = Barrier(count), []

    def run() -> None:
        start.wait()
        try:
            work()
        except Exception as error:
            errors.append(error)
        finally:
            connections.close_all()

    threads = [Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def wipe_index() -> None:
    """As if Redis had lost everything of ours."""
    if settings.REDIS_URL:
        names.wipe_redis(settings.REDIS_URL, settings.NAME_PREFIX)


def wipe_broker() -> None:
    if settings.AMQP_URL:
        names.empty_queues(settings.AMQP_URL, settings.NAME_PREFIX, TASKS)


def leave_nothing() -> None:
    wipe_index()
    if settings.AMQP_URL:
        names.delete_queues(settings.AMQP_URL, settings.NAME_PREFIX, TASKS)
