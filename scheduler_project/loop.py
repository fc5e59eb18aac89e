"""The loop around every daemon, written once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread
from typing import Any, Protocol

import structlog
from django.conf import settings
from django.db import connections

from scheduler_project.memory import keep_what_is_loaded
from scheduler_project.pulse import Pulse

logger = structlog.get_logger(__name__)

LONGEST_NAP = 5.0  # seconds between tries while rounds keep failing


class Daemon(Protocol):
    def tick(self) -> int:
        """Do one round of work and return how much was done; 0 lets the loop nap."""


def run_until_stopped(
    daemon: Daemon,
    *,
    interval: timedelta,
    stop: Event,
    beats: bool = True,
    after_round: Callable[[], None] = lambda: None,
    rest: Callable[[timedelta], timedelta] = lambda longest: longest,
) -> None:
    """Tick until `stop` is set, and call `after_round` each time. A failed round is tried again, never given up.

    A round that found nothing to do is followed by a nap of `interval`, or of what `rest` makes of that. With `beats`,
    the pulse of the process is this loop's: it says nothing of the others.
    """
    keep_what_is_loaded()
    name = type(daemon).__name__.lower()
    pulse = Pulse(settings.PULSE_FILE if beats else "")
    failures = 0
    while not stop.is_set():
        pulse.beat()
        nap = interval.total_seconds()
        try:
            did_work = daemon.tick()
            if not did_work:
                nap = rest(interval).total_seconds()
        except Exception as error:
            did_work = 0
            failures += 1
            nap = min(LONGEST_NAP, nap * 2 ** min(failures, 10))
            if failures == 1:  # said once for an outage, not at each try
                logger.exception(f"{name}.round_failed", error=str(error), remedy="tried again until it works")
            # A connection broken under us stays broken until it is closed.
            connections.close_all()
        else:
            pulse.succeeded()
            if failures:
                logger.info(f"{name}.working_again", failed_rounds=failures)
            failures = 0
        after_round()
        if not did_work:
            stop.wait(nap)


def in_a_thread(daemon: Daemon, *, stop: Event, **options: Any) -> Thread:
    """The same, beside whatever else this process does; join it when `stop` is set."""

    def run() -> None:
        run_until_stopped(daemon, stop=stop, **options)
        connections.close_all()

    thread = Thread(target=run, name=type(daemon).__name__.lower(), daemon=True)
    thread.start()
    return thread


def stop_on_signals() -> Event:
    """An event that SIGTERM and Ctrl-C set. The second signal ends the process at once."""
    stop = Event()

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            os._exit(128 + number)
        # From a thread of its own: this interrupts the main thread, which may be inside `stop.wait()`
        # and hold the very lock that `stop.set()` waits for.
        Thread(target=stop.set).start()

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
    return stop
