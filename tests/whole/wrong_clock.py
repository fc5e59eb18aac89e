"""A command of Punctual's on a machine whose clock is wrong: `python -m tests.whole.wrong_clock SECONDS COMMAND …`.

The real process with the real adapters; only what reads this machine's clock is told another time. `datetime.now`
itself cannot be changed from Python, so Django's `timezone.now` is, and a test sees to it that nobody calls the other.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta

from django.core.management import execute_from_command_line
from django.utils import timezone


def set_clock(seconds: float) -> None:
    real_time, real_time_ns, real_now = time.time, time.time_ns, timezone.now

    def now() -> datetime:
        return real_now() + timedelta(seconds=seconds)

    time.time = lambda: real_time() + seconds
    time.time_ns = lambda: real_time_ns() + int(seconds * 1e9)
    timezone.now = now


if __name__ == "__main__":
    set_clock(float(sys.argv[1]))
    execute_from_command_line(["manage.py", *sys.argv[2:]])
