"""A process to fork children from is a copy made in time, or not at all."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from execution.workshop.nursery import Nursery


def test_a_process_that_has_threads_is_never_copied() -> None:
    done = Event()
    Thread(target=done.wait, daemon=True).start()

    with pytest.raises(RuntimeError, match="before the first thread"):
        Nursery(lambda pipe, threads: None)

    done.set()
