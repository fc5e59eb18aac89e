"""One line an event: coloured on a terminal, JSON everywhere else. Libraries' own lines look the same."""

from __future__ import annotations

import logging
import logging.config
import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from contextvars import ContextVar
from threading import RLock
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured

from jobs.redaction import Scrubber
from scheduler_project import tracing

# What every line within has besides its own fields, made only when a line is written: most executions write none.
fields_within: ContextVar[Callable[[], Mapping[str, Any]] | None] = ContextVar("fields_within", default=None)
# What takes secrets out of every line within. Whatever wrote the line, and whatever it tells.
hide_within: ContextVar[Scrubber | None] = ContextVar("hide_within", default=None)

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
FORMS = ("auto", "json", "text")
STANDARD_ERROR = 2


class LineHandler(logging.Handler):
    """Writes each record as one line, and never leaves its lock taken.

    Handlers of tasks are interrupted between any two steps of their threads. `logging.Handler.handle` of Python 3.11
    and 3.12 takes the lock in one step and enters its `try` in the next: a thread that is interrupted between the two
    keeps the lock, and all threads that log wait for it. `with` is safe (see execution/workshop/interruptible.py).

    The lock is the handler's usual one, which `logging` renews in a forked child. A pipe mixes long lines that are
    written at once, so a lock is needed; it is reentrant, because a signal's own line may interrupt another.
    """

    lock: RLock

    def __init__(self, file: int = STANDARD_ERROR) -> None:
        super().__init__()
        self._file = file

    def handle(self, record: logging.LogRecord) -> Any:
        kept = self.filter(record)
        if kept:
            self.emit(kept if isinstance(kept, logging.LogRecord) else record)
        return kept

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = f"{self.format(record)}\n".encode(errors="backslashreplace")
            with self.lock:
                while line:
                    line = line[os.write(self._file, line) :]
        except Exception:
            self.handleError(record)


def configure_logging(*, level: str, form: str, traced: bool = False) -> None:
    """Send everything at or above `level` to standard error, as `json`, as `text`, or as suits what reads it.

    Where this process is `traced`, lines name the span that they are written in.
    """
    if level not in LEVELS:
        raise ImproperlyConfigured(f"LOG_LEVEL={level!r} is none of {', '.join(LEVELS)}.")
    if form not in FORMS:
        raise ImproperlyConfigured(f"LOG_FORMAT={form!r} is none of {', '.join(FORMS)}.")
    for_people = form == "text" or (form == "auto" and sys.stderr.isatty())
    shared = [
        structlog.contextvars.merge_contextvars,
        _merge_fields_within,
        *([_merge_span] if traced else []),
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendered = (
        [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
        if for_people
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "lines": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendered, _hide],
                }
            },
            "handlers": {"stderr": {"()": LineHandler, "formatter": "lines"}},
            "root": {"handlers": ["stderr"], "level": level},
            # pika tells every step of every connection attempt; what matters we say ourselves.
            # The same goes for OpenTelemetry, whenever a collector does not answer.
            "loggers": {
                "pika": {"level": "CRITICAL"},
                "opentelemetry": {"level": "CRITICAL"},
                "django.request": {"level": "ERROR"},
            },
        }
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        cache_logger_on_first_use=True,
    )


def _merge_fields_within(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    make = fields_within.get()
    return event if make is None else {**make(), **event}


def _merge_span(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {**tracing.current_ids(), **event}


def _hide(logger: Any, method: str, line: str) -> str:
    scrubber = hide_within.get()
    return line if scrubber is None else scrubber.clean(line)
