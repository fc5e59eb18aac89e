"""The soak leaves nothing running, however it ends."""

from __future__ import annotations

import os
import signal

import pytest

from benchmarks.fleet import ProcessEnded
from benchmarks.soak import beside


def test_a_look_that_fails_ends_the_simulation() -> None:
    with pytest.raises(ProcessEnded), beside(os.environ, "-c", "import signal; signal.pause()") as simulation:
        raise ProcessEnded("the poller")

    assert simulation.returncode == -signal.SIGKILL
