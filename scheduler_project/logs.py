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
    """Writes lines, and never keeps its lock.

    What runs handlers interrupts their threads between any two steps. The standard library gets the lock in one step
    and is bound to give it back in the next: who is interrupted in between has it for ever, and whoever has something
    to tell waits for it. In a `with` both are one step. (A lock is needed: a pipe mixes long lines that are written at
    once. One thread may have it twice: a signal's own line can come in the middle of another.)
    """

    def __init__(self, file: int = STANDARD_ERROR) -> None:
        super().__init__()
        self._file = file
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        """In a copy of this process, whoever had the lock is missing."""
        self._writing = RLock()

    def createLock(self) -> None:
        self.lock = None  # which the standard library would get and give back

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = f"{self.format(record)}\n".encode(errors="backslashreplace")
            with self._writing:
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
