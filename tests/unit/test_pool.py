"""Threads for handlers keep nothing of the work that is done."""

from __future__ import annotations

import weakref
from functools import partial

from execution.pool import DaemonPool
from tests.whole.processes import eventually


class Payload:
    pass


def test_an_idle_thread_does_not_keep_what_it_worked_on() -> None:
    pool = DaemonPool(1)
    payload = Payload()
    kept = weakref.ref(payload)

    pool.submit(partial(id, payload))
    del payload

    eventually(lambda: kept() is None)
    pool.close()
