"""Puts executor, recoverer and outbox together from the settings."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from datetime import timedelta
from functools import cache, partial
from typing import Any

from django.conf import settings
from django.utils import timezone

from execution.broker import get_broker
from execution.defaults import default_limits
from execution.destinations import Destinations, Rules
from execution.executor import Executor
from execution.gauges import SystemGauges
from execution.outbox import Outbox
from execution.pace import Pace
from execution.recoverer import Errand, Recoverer
from execution.registry import UnknownTask, registry
from execution.release import Release
from execution.remote import tasks_from_rabbitmq
from execution.remote_work import Counter
from execution.runner import Runner
from execution.uploads import prune_uploads
from execution.voice import Bounds
from execution.workshop import Workshop
from execution.workshop.processes import ProcessWorkshop
from execution.workshop.threads import ThreadWorkshop
from jobs import canaries, dead_letters
from jobs.clock import Clock, DatabaseClock
from jobs.pruning import Announced, Pruner, kept_by_settings
from scheduler_project.presence import Load

TIDY_EVERY = timedelta(minutes=1)
OVERRUN_AFTER = timedelta(minutes=1)  # past the time limit and what a handler gets to end: nobody ends it any more


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


def load_of(executor: Executor) -> Load:
    overrun = executor.overrun(2 * settings.END_GRACE + OVERRUN_AFTER)
    return Load(executor.holding, overrun, executor.concluded)


def make_runner() -> Runner:
    clock = DatabaseClock(or_own=True)
    return Runner(
        registry,
        clock=clock,
        limits=default_limits(),
        patience=settings.PUBLISH_PATIENCE,
        largest_result=settings.MAX_RESULT_BYTES,
        destinations=make_destinations(clock),
    )


def make_destinations(clock: Clock) -> Destinations:
    release = Release(
        settings.DESTINATION_PACE, settings.DESTINATION_PACE_DOUBLES.total_seconds(), settings.DESTINATION_PACE_CAP
    )
    rules = Rules(
        settings.DESTINATION_FAILURES,
        settings.DESTINATION_PROBE,
        settings.DESTINATION_PROBE_CAP,
        settings.DESTINATION_PATIENCE,
        release,
    )
    return Destinations(clock, rules)


def make_workshop(runner: Runner, threads: int) -> Workshop:
    return ProcessWorkshop(runner, threads) if settings.ISOLATE_HANDLERS else make_thread_workshop(runner, threads)


def make_thread_workshop(runner: Runner, threads: int, **options: Any) -> ThreadWorkshop:
    bounds = Bounds(settings.LOG_LINES, settings.LOG_BYTES)
    return ThreadWorkshop(runner, threads, end_grace=settings.END_GRACE, bounds=bounds, **options)


def make_executor(tasks: Collection[str] = (), threads: int | None = None) -> Executor:
    """An executor of these tasks, by default of all. An unknown name is refused at once, not when work comes."""
    names = [_served(name) for name in tasks] or registry.local_names()
    threads = threads or settings.EXECUTOR_THREADS
    runner = make_runner()
    spare = settings.EXECUTOR_SPARE_THREADS
    workshop = make_workshop(runner, threads + spare)  # before anything that has a thread
    pace = make_pace()
    return Executor(
        get_broker().subscribe(names, prefetch=threads, bundle=pace.bundle),
        make_outbox(pace),
        runner,
        workshop,
        tasks=names,
        worker=f"{socket.gethostname()}-{os.getpid()}"[:100],
        clock=DatabaseClock(),
        threads=threads,
        spare=spare,
        bookkeeping_delay=settings.BOOKKEEPING_DELAY,
        words_pause=settings.WORDS_PAUSE,
    )


def _served(name: str) -> str:
    task = registry.get(name)
    if task.remote:
        raise UnknownTask(
            f"{name!r} is run by workers of its own. Executors serve: {', '.join(registry.local_names())}."
        )
    return task.name


@cache
def get_counter() -> Counter:
    """Where workers in other languages are served: one for all requests of a web process."""
    return Counter(
        make_outbox(),
        make_runner(),
        clock=DatabaseClock(),
        most_waiting=settings.WORKER_POLLS,
        longest_wait=settings.WORKER_POLL_WAIT,
        carried=tasks_from_rabbitmq(registry) if settings.AMQP_URL else (),
    )


def make_gauges() -> SystemGauges:
    return SystemGauges(registry, DatabaseClock())


def make_pruner() -> Pruner | Announced:
    pruner = Pruner(kept_by_settings(), batch=settings.PRUNE_BATCH)
    if settings.HISTORY_KEPT is None or settings.HISTORY_KEPT_IS_CHOSEN:
        return pruner
    return Announced(pruner, settings.HISTORY_KEPT, settings.HISTORY_NOTICE)


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
            Errand("uploads.pruned", TIDY_EVERY, lambda: prune_uploads(timezone.now())),
            Errand("history.pruned", settings.PRUNE_PAUSE, make_pruner().step),
        ],
    )
