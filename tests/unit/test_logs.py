"""Log lines suit whoever reads them: people at a terminal, or a program behind a pipe."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from execution.retry import Cancelled
from execution.workshop.interruptible import Interruptible
from scheduler_project.logs import LineHandler, configure_logging

COLOUR = "\x1b["
# One line of ours, and one of a library that knows nothing of ours.
SAYS = """
import logging
import django
django.setup()
import structlog
structlog.get_logger("ours").info("poller.started", batch=7)
logging.getLogger("theirs").warning("%s is slow", "disk")
"""


def environment(place: Path, form: str | None) -> dict[str, str]:
    told = {name: value for name, value in os.environ.items() if name not in ("LOG_FORMAT", "NO_COLOR", "FORCE_COLOR")}
    told |= {"DJANGO_SETTINGS_MODULE": "scheduler_project.settings", "PUNCTUAL_VAR": str(place), "LOG_LEVEL": "INFO"}
    return told if form is None else told | {"LOG_FORMAT": form}


def on_a_terminal(place: Path, form: str | None = None) -> list[str]:
    """What a process writes that has a pseudo-terminal for standard error."""
    ours, its = os.openpty()
    attributes = termios.tcgetattr(its)
    attributes[1] &= ~termios.OPOST  # lines end as they were written
    termios.tcsetattr(its, termios.TCSANOW, attributes)
    process = subprocess.Popen(
        [sys.executable, "-c", SAYS], cwd=settings.BASE_DIR, env=environment(place, form), stderr=its
    )
    os.close(its)
    told = b""
    with suppress(OSError):  # how Linux says that nobody holds the other end any more
        while part := os.read(ours, 65536):
            told += part
    os.close(ours)
    assert process.wait(60) == 0, told.decode()
    return told.decode().splitlines()


def on_a_pipe(place: Path, form: str | None = None) -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-c", SAYS],
        cwd=settings.BASE_DIR,
        env=environment(place, form),
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stderr.splitlines()


@pytest.mark.parametrize("form", [None, "auto"])
def test_on_a_terminal_lines_are_coloured_and_readable(tmp_path, form) -> None:
    ours, theirs = on_a_terminal(tmp_path, form)

    assert COLOUR in ours and "poller.started" in ours and "batch" in ours and "{" not in ours
    assert COLOUR in theirs and "disk is slow" in theirs


@pytest.mark.parametrize("form", [None, "auto"])
def test_on_a_pipe_each_line_is_a_document(tmp_path, form) -> None:
    ours, theirs = map(json.loads, on_a_pipe(tmp_path, form))

    assert (ours["event"], ours["batch"], ours["level"], ours["logger"]) == ("poller.started", 7, "info", "ours")
    assert (theirs["event"], theirs["level"], theirs["logger"]) == ("disk is slow", "warning", "theirs")
    assert ours["timestamp"].endswith("Z")


def test_who_asks_for_text_on_a_pipe_gets_it_without_colours(tmp_path) -> None:
    ours, theirs = on_a_pipe(tmp_path, "text")

    assert "poller.started" in ours and "batch=7" in ours and "disk is slow" in theirs
    assert COLOUR not in ours + theirs and "{" not in ours


def test_who_asks_for_documents_on_a_terminal_gets_them(tmp_path) -> None:
    assert [json.loads(line)["event"] for line in on_a_terminal(tmp_path, "json")] == ["poller.started", "disk is slow"]


@pytest.mark.parametrize(("level", "form", "named"), [("LOUD", "auto", "LOG_LEVEL"), ("INFO", "xml", "LOG_FORMAT")])
def test_what_lines_cannot_look_like_is_refused_with_what_they_can(level, form, named) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"{named}=.* is none of "):
        configure_logging(level=level, form=form)


@pytest.fixture
def written(tmp_path: Path) -> Iterator[tuple[logging.Logger, Path]]:
    """A logger that nobody else has, and the file that its lines go to."""
    logger, path = logging.Logger("of its own"), tmp_path / "lines"
    with path.open("wb") as file:
        logger.addHandler(LineHandler(file.fileno()))
        yield logger, path


@pytest.fixture
def slowly_read() -> Iterator[logging.Logger]:
    """A logger whose lines are read slowly, so that whoever writes a long one keeps the others waiting."""
    logger, (ours, its) = logging.Logger("of its own"), os.pipe()
    logger.addHandler(LineHandler(its))

    def read() -> None:
        while os.read(ours, 65536):
            time.sleep(0.005)

    reader = Thread(target=read)
    reader.start()
    yield logger
    os.close(its)
    reader.join()
    os.close(ours)


def test_whoever_is_interrupted_while_it_tells_something_keeps_nobody_from_telling_more(slowly_read) -> None:
    logger = slowly_read

    def tell_for_ever(begun: Event) -> None:
        while True:
            logger.warning("from within")
            begun.set()

    for _ in range(20):
        call, begun, ended, over, told = Interruptible(), Event(), Event(), Event(), Event()

        def work(call=call, begun=begun, ended=ended, over=over) -> None:
            with suppress(Cancelled):
                call.call(partial(tell_for_ever, begun))
            ended.set()
            over.wait(60)  # as a thread that waits for more work: whatever it has, it keeps

        thread = Thread(target=work, daemon=True)
        thread.start()
        assert begun.wait(5)
        logger.warning("interrupted" + "!" * 200_000)  # as is said whenever somebody is: so the other waits just now
        call.interrupt(Cancelled)
        while not ended.wait(0.1):
            call.interrupt(Cancelled)
        Thread(target=lambda told=told: (logger.warning("by the next"), told.set()), daemon=True).start()

        assert told.wait(5)
        over.set()
        thread.join()


def test_long_lines_that_threads_write_into_a_pipe_at_the_same_time_stay_whole() -> None:
    logger, (ours, its) = logging.Logger("of its own"), os.pipe()
    logger.addHandler(LineHandler(its))
    lines = [f"{number:>3} " + "x" * 6000 for number in range(200)]  # more than a pipe keeps whole by itself

    def write(mine: list[str]) -> None:
        for line in mine:
            logger.warning(line)

    threads = [Thread(target=write, args=[lines[first::4]]) for first in range(4)]
    for thread in threads:
        thread.start()
    with os.fdopen(ours) as reader:
        read = [reader.readline().removesuffix("\n") for _ in lines]
    for thread in threads:
        thread.join()
    os.close(its)

    assert sorted(read) == sorted(lines)


def test_a_copy_of_a_process_that_was_just_writing_can_write_too(written) -> None:
    logger, path = written
    [handler] = logger.handlers
    writing, copied = Event(), Event()

    def write() -> None:
        with handler.lock:
            writing.set()
            copied.wait(30)

    thread = Thread(target=write)
    thread.start()
    assert writing.wait(5)
    if not (child := os.fork()):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(5)
        logger.warning("from the copy")
        os._exit(0)
    copied.set()
    thread.join()

    assert os.waitpid(child, 0)[1] == 0
    assert path.read_text() == "from the copy\n"


def test_what_no_encoding_has_is_told_all_the_same(written) -> None:
    logger, path = written

    logger.warning("half of a sign: %s", "\ud83d")

    assert path.read_text() == "half of a sign: \\ud83d\n"
