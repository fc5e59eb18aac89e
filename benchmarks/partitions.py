"""What partitions cost and save: the same history in one table and in partitions, in turns, on the same server.

The one database is a copy of the other, so all rows are the same. Run as `python -m benchmarks.partitions act ROUNDS`
or `… forget delete|drop` it is inside one of them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import django
import psycopg

from benchmarks.fleet import Fleet, fleet
from benchmarks.sizes import Sizes

KINDS = ("plain", "partitioned")
JOBS = 1_000  # that the history is spread over
DISTANT = 50_000  # jobs besides that are not due
KEPT = timedelta(days=1)  # of the history that is let go
WARM_UP = 1  # rounds of each turn
TURNS = 3  # of each kind
LIFE = ("a poller's round, a batch due", "taking and claiming a batch", "settling a batch")  # of an execution


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    rows = sizes.partitioned
    with fleet(database_only=True) as plain:
        plain.run("-m", "benchmarks.partitions", "fill", str(rows))
        with _copy(plain) as copied:
            copied.run("-m", "benchmarks.partitions", "divide")
            places = dict(zip(KINDS, (plain, copied), strict=True))
            told = _compare_acts(places, sizes.looks, say)
            forgotten = {
                "plain": json.loads(plain.run("-m", "benchmarks.partitions", "forget", "delete")),
                "partitioned": json.loads(copied.run("-m", "benchmarks.partitions", "forget", "drop")),
            }
    say(f"letting history go: {forgotten}")
    return {"stored": rows, "kinds": told, "forget": forgotten}


@contextmanager
def _copy(plain: Fleet) -> Iterator[Fleet]:
    address = urlsplit(plain.database)
    name = f"{address.path[1:]}_copy"
    with psycopg.connect(urlunsplit(address._replace(path="/postgres")), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{address.path[1:]}"')
        try:
            yield Fleet(dict(plain.env) | {"DATABASE_URL": urlunsplit(address._replace(path=f"/{name}"))}, plain.prefix)
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _compare_acts(places: dict[str, Fleet], rounds: int, say: Callable[[str], None]) -> dict[str, Any]:
    turns: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for _ in range(TURNS):
        for kind, place in places.items():
            turns[kind].append(json.loads(place.run("-m", "benchmarks.partitions", "act", str(rounds))))
            say(f"{kind}: a turn is done")
    return {
        kind: {
            "ms": {act: round(median(turn["ms"][act] for turn in told), 3) for act in told[0]["ms"]},
            **{name: told[0][name] for name in ("partitions", "bytes_a_row")},
            "wal_bytes": round(median(turn["wal_bytes"] for turn in told)),
        }
        for kind, told in turns.items()
    }


def fill(rows: int) -> None:
    from benchmarks.load import history, various

    various(DISTANT)
    history(rows, of_jobs=JOBS)


def divide() -> None:
    """As after some time in production: the days of the history are in a partition each."""
    from django.db import connection
    from django.utils import timezone

    from jobs import partitions

    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept AS TABLE jobs_execution")
        cursor.execute("TRUNCATE jobs_execution CASCADE")
        cursor.execute("SELECT min(due_at) FROM kept")
        [(oldest,)] = cursor.fetchall()
    days = (timezone.now() - oldest).days
    partitions.convert(now=oldest - timedelta(days=2), length=timedelta(days=1), ahead=days + 4)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO jobs_execution SELECT * FROM kept ORDER BY id")
        cursor.execute("DROP TABLE kept")
        cursor.execute("VACUUM ANALYZE jobs_execution")


def act(rounds: int) -> dict[str, Any]:
    """PostgreSQL's processor time for each act, and what all of them wrote to its log."""
    from django.conf import settings
    from django.db import DatabaseError, connection
    from django.utils import timezone

    from accounts.models import User
    from benchmarks.acts import Day
    from benchmarks.pages import Pages
    from jobs import partitions

    bytes_a_row, day = _bytes_a_row(), Day()
    acts = [*day.acts(), *Pages(timezone.now() - KEPT).acts()[:8]]
    with connection.cursor() as cursor, suppress(DatabaseError):
        cursor.execute("CHECKPOINT")  # or what was stored is still being written while others are timed
    took: dict[str, list[float]] = defaultdict(list)
    written = []
    for _ in range(WARM_UP + rounds):
        logged = 0
        for one in acts:
            one.before()
            place, used = _log_place(), _server_seconds()
            one.do()
            took[one.name].append(_server_seconds() - used)
            logged += _log_place() - place if one.name in LIFE else 0
        written.append(logged / settings.POLL_BATCH)
    User.objects.filter(is_superuser=True).delete()  # whom the pages were asked for: the next turn makes its own
    return {
        "ms": {name: median(seconds[WARM_UP:]) * 1000 for name, seconds in took.items()},
        "wal_bytes": median(written[WARM_UP:]),
        "bytes_a_row": bytes_a_row,
        "partitions": len(partitions.partitions()) if partitions.partitioned() else 0,
    }


def _server_seconds() -> float:
    """Of processors, that those of PostgreSQL's processes have used which serve us and nobody else.

    Who waits for a processor uses none: on a busy machine this says what the clock cannot.
    """
    ours = "SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = %s"
    backends = _one(ours, "client backend")
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in backends) / 1e9


def _log_place() -> int:
    return int(_one("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"))


def _bytes_a_row() -> float:
    parts = "SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('jobs_execution')"
    size = f"SELECT coalesce(({parts}), pg_total_relation_size('jobs_execution'))"
    return round(float(_one(size)) / _one("SELECT count(*) FROM jobs_execution"))


def _one(question: str, *values: str) -> Any:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(question, values)
        [(answer,)] = cursor.fetchall()
    return answer


def forget(how: str) -> dict[str, Any]:
    """Let all but the last day go, row by row or by the partition."""
    from django.conf import settings
    from django.utils import timezone

    from jobs import partitions
    from jobs.models import Execution
    from jobs.pruning import Kept, Pruner

    before = Execution.objects.count()
    logged, used, begun = _log_place(), _server_seconds(), time.perf_counter()
    if how == "delete":
        for _ in Pruner(Kept(history=KEPT), batch=settings.PRUNE_BATCH).all_steps():
            pass
    else:
        for _ in partitions.drop_before(timezone.now() - KEPT):
            pass
    seconds, used = time.perf_counter() - begun, _server_seconds() - used
    gone = before - Execution.objects.count()
    written = _log_place() - logged
    return {
        "rows": gone,
        "seconds": round(seconds, 2),
        "us_a_row": round(used * 1e6 / max(gone, 1), 2),
        "wal_bytes_a_row": round(written / max(gone, 1), 1),
    }


if __name__ == "__main__":
    os.environ["LOG_LEVEL"] = "ERROR"  # workers are lost on purpose
    django.setup()
    match sys.argv[1:]:
        case ["fill", rows]:
            fill(int(rows))
        case ["divide"]:
            divide()
        case ["act", rounds]:
            print(json.dumps(act(int(rounds))))
        case ["forget", how]:
            print(json.dumps(forget(how)))
