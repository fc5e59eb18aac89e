"""How many jobs a second one web process accepts in bulk: `python -m benchmarks.bulk_create [CALLS] [--profile]`.

Each call creates 1,000 jobs, in this process and through the whole of the API (token, parser, checks, database,
answer), on the servers that DATABASE_URL and REDIS_URL name. No network and no client are measured, so what
is told is the server's own time: all of it, and what of it was spent in Python.
"""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import django

from benchmarks.scratch import leave_nothing, own_database

JOBS = 1000
ZONES = ("Asia/Jakarta", "Europe/Berlin", "America/New_York", "UTC")
Schedule = Callable[[int], dict]
SCHEDULES: dict[str, Schedule] = {
    "cron, 48 different": lambda n: {
        "type": "cron",
        "expression": f"{n % 12 * 5} 10 * * 5",
        "timezone": ZONES[n % len(ZONES)],
    },
    "once, each at its own time": lambda n: {
        "type": "once",
        "run_at": f"2090-01-01T{n // 60 % 24:02}:{n % 60:02}:00Z",
    },
}


def body(schedule: Schedule) -> bytes:
    jobs = [
        {
            "task": "send_email",
            "name": f"Mail {n}",
            "payload": {"to": f"person{n}@example.com", "subject": f"Hello {n}", "body": "A few words. " * 8},
            "schedule": schedule(n),
        }
        for n in range(JOBS)
    ]
    return json.dumps({"jobs": jobs}).encode()


def post(client, token: str, content: bytes) -> None:
    answer = client.generic(
        "POST",
        "/api/v1/jobs/bulk",
        content,
        content_type="application/json",
        HTTP_HOST="localhost",
        HTTP_AUTHORIZATION=f"Bearer {token}",
    )
    assert b'"created":1000' in answer.content, answer.content[:500]


def measure(calls: int, profiled: bool) -> None:
    from django.core.management import call_command
    from django.test import Client

    from accounts.services import register
    from accounts.tokens import sign_in
    from scheduler_project.memory import keep_what_is_loaded

    keep_what_is_loaded()  # as the web process does
    call_command("migrate", verbosity=0)
    token = sign_in(register(username="bench", email="bench@example.com", password="correct horse")).access
    client = Client()
    for name, schedule in SCHEDULES.items():
        content = body(schedule)
        post(client, token, content)  # the first one warms up caches and connections
        elapsed, busy = [], []
        for _ in range(calls):
            wall, processor = time.perf_counter(), time.process_time()
            post(client, token, content)
            elapsed.append(time.perf_counter() - wall)
            busy.append(time.process_time() - processor)
        figures = {
            "schedule": name,
            "calls": calls,
            "ms_p50": round(statistics.median(elapsed) * 1000, 1),
            "ms_min": round(min(elapsed) * 1000, 1),
            "python_ms_p50": round(statistics.median(busy) * 1000, 1),
            "python_ms_min": round(min(busy) * 1000, 1),
            "jobs_a_second_p50": round(JOBS / statistics.median(elapsed)),
        }
        print(json.dumps(figures))
        if profiled:
            profile = cProfile.Profile()
            profile.runcall(post, client, token, content)
            pstats.Stats(profile).sort_stats("tottime").print_stats(22)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    profiled = "--profile" in arguments
    calls = int(next((one for one in arguments if one.isdecimal()), 20))
    prefix = f"bench-{os.getpid()}."
    with tempfile.TemporaryDirectory(prefix="punctual-bench-") as folder, own_database() as database:
        os.environ.update(database | {"PUNCTUAL_VAR": folder, "NAME_PREFIX": prefix, "LOG_LEVEL": "WARNING"})
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_project.settings")
        django.setup()
        try:
            measure(calls, profiled)
        finally:
            from django.db import connection

            connection.close()
            leave_nothing(prefix)
