"""Puts executor, recoverer and outbox together from the settings."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings

from execution.broker import get_broker
from execution.defaults import default_limits
from execution.executor import Executor
from execution.outbox import Outbox
from execution.pace import Pace
from execution.recoverer import Errand, Recoverer
from execution.registry import registry
from execution.runner import Runner
from execution.voice import Bounds
from execution.workshop import Workshop
from execution.workshop.processes import ProcessWorkshop
from execution.workshop.threads import ThreadWorkshop
from jobs import canaries, dead_letters
from jobs.clock import DatabaseClock

TIDY_EVERY = timedelta(minutes=1)


def make_pace() -> Pace:
    return Pace(most=settings.EXECUTIONS_PER_MESSAGE, span=settings.BUNDLE_SPAN, batch_size=registry.batch_size)


def make_outbox(pace: Pace | None = None) -> Outbox:
    return Outbox(
        get_broker(),
        clock=DatabaseClock(),
        pace=pace or make_pace(),
        publish_patience=settings.PUBLISH_PATIENCE,
        queue_patience=settings.QUEUE_PATIENCE,
    )


def make_runner() -> Runner:
    return Runner(
        registry,
        clock=DatabaseClock(or_own=True),
        limits=default_limits(),
        patience=settings.PUBLISH_PATIENCE,
        largest_result=settings.MAX_RESULT_BYTES,
    )


def make_workshop(runner: Runner, threads: int) -> Workshop:
    return ProcessWorkshop(runner, threads) if settings.ISOLATE_HANDLERS else make_thread_workshop(runner, threads)


def make_thread_workshop(runner: Runner, threads: int, **options: Any) -> ThreadWorkshop:
    bounds = Bounds(settings.LOG_LINES, settings.LOG_BYTES)
    return ThreadWorkshop(runner, threads, end_grace=settings.END_GRACE, bounds=bounds, **options)


def make_executor(tasks: Collection[str] = (), threads: int | None = None) -> Executor:
    """An executor of these tasks, by default of all. An unknown name is refused at once, not when work comes."""
    names = [registry.get(name).name for name in tasks] or registry.names()
    threads = threads or settings.EXECUTOR_THREADS
    runner = make_runner()
    workshop = make_workshop(runner, threads)  # before anything that has a thread
    pace = make_pace()
    return Executor(
        get_broker().subscribe(names, prefetch=threads, bundle=pace.bundle),
        make_outbox(pace),
        runner,
        workshop,
        worker=f"{socket.gethostname()}-{os.getpid()}"[:100],
        clock=DatabaseClock(),
        threads=threads,
        bookkeeping_delay=settings.BOOKKEEPING_DELAY,
        words_pause=settings.WORDS_PAUSE,
    )


def make_recoverer() -> Recoverer:
    return Recoverer(
        make_outbox(),
        make_runner(),
        clock=DatabaseClock(),
        batch=settings.RECOVER_BATCH,
        look=settings.OVERLAP_LOOK,
        errands=[
            Errand("dead_letters.tidied", TIDY_EVERY, partial(dead_letters.tidy, settings.RECOVER_BATCH)),
            Errand("dead_letters.causes_named", TIDY_EVERY, partial(dead_letters.name_causes, settings.RECOVER_BATCH)),
            Errand(
                "dead_letters.replays_moved", settings.CANARY_LOOK, partial(canaries.look_after, settings.CANARY_LOOK)
            ),
        ],
    )
