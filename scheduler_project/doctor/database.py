"""Whether the database answers, is one we know, and keeps what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from jobs.clock import database_now
from jobs.partitions import partitioned, partitions
from scheduler_project.doctor.findings import Finding, error, note, warning
from scheduler_project.past_the_pool import reach

OLDEST = {"postgresql": (14, 0), "sqlite": (3, 35, 0)}  # Django 5.2 and our statements (RETURNING) need these
SERVER_SETTINGS = ("fsync", "full_page_writes", "synchronous_commit", "autovacuum", "max_connections")
FEW_LEFT = 0.9  # of max_connections in use: the next process may not get any
RUNNING_OUT = timedelta(days=2)  # of partitions: time enough for somebody to see it on a working day
HISTORY = """
    SELECT coalesce(sum(reltuples), 0)::bigint FROM pg_class WHERE relkind = 'r' AND oid IN (
        SELECT 'jobs_execution'::regclass UNION SELECT relid FROM pg_partition_tree('jobs_execution')
    )
"""
MANY_ROWS = 20_000_000  # executions: from here on lists and backups take their time


def answers() -> list[Finding]:
    """The one check that all others but those of the settings stand on."""
    try:
        reach()
    except Exception as fault:
        return [
            error(
                "database.unreachable",
                f"The database does not answer: {str(fault).strip()}",
                "Start it, and check DATABASE_URL: its host, name, user and password.",
            )
        ]
    return []


def version() -> list[Finding]:
    return too_old(connection.vendor, connection.get_database_version())


def too_old(vendor: str, running: tuple[int, ...]) -> list[Finding]:
    oldest = OLDEST[vendor]
    if running >= oldest:
        return []
    told = ".".join(map(str, running))
    needed = ".".join(map(str, oldest))
    return [error("database.too_old", f"{vendor} {told} is older than {needed}, the first that works.", "Upgrade it.")]


def settings_of_the_server() -> list[Finding]:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA journal_mode")
            return sqlite_journal(cursor.fetchone()[0])
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(SERVER_SETTINGS)])
        told = dict(cursor.fetchall())
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
        return careless(told) + nearly_full(int(cursor.fetchone()[0]), int(told["max_connections"]))


def sqlite_journal(mode: str) -> list[Finding]:
    if mode == "wal":
        return []
    return [
        warning(
            "database.sqlite_journal",
            f"SQLite's journal is {mode!r}: whoever reads waits for whoever writes.",
            "Put the file on a local disk, close all other programs that use it, and start again: it is set to WAL.",
        )
    ]


def careless(told: Mapping[str, str]) -> list[Finding]:
    """Settings by which PostgreSQL says "stored" before it is."""
    found = []
    for name in ("fsync", "full_page_writes"):
        if told.get(name) == "off":
            found.append(
                error(
                    "database.loses_data",
                    f"PostgreSQL runs with {name} = off: a crash of the machine can leave it unreadable.",
                    f"Set {name} = on in postgresql.conf, and reload.",
                )
            )
    if told.get("synchronous_commit") == "off":
        found.append(
            warning(
                "database.forgets_the_last_moment",
                "PostgreSQL runs with synchronous_commit = off: what was accepted just before a crash is lost.",
                "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf();",
            )
        )
    if told.get("autovacuum") == "off":
        found.append(
            error(
                "database.never_vacuums",
                "PostgreSQL runs with autovacuum = off: tables that change all the time grow without end.",
                "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();",
            )
        )
    return found


def nearly_full(used: int, most: int) -> list[Finding]:
    if used < FEW_LEFT * most:
        return []
    return [
        warning(
            "database.few_connections_left",
            f"{used} of PostgreSQL's {most} connections are in use: further processes may get none.",
            "Raise max_connections, lower DATABASE_POOL_SIZE, or put PgBouncer in between.",
        )
    ]


def migrations() -> list[Finding]:
    loader = MigrationLoader(connection)
    known, applied = loader.graph.nodes.keys() | loader.replacements.keys(), loader.applied_migrations.keys()
    apps = {app for app, _ in known}
    missing = sorted(f"{app}.{name}" for app, name in loader.graph.nodes.keys() - applied)
    unknown = sorted(f"{app}.{name}" for app, name in applied - known if app in apps)
    return behind(missing) + ahead(unknown)


def behind(missing: list[str]) -> list[Finding]:
    if not missing:
        return []
    return [
        error(
            "database.migrations_missing",
            f"{len(missing)} migration(s) are not applied: {', '.join(missing[:5])}.",
            "Run `manage.py migrate` before anything else.",
        )
    ]


def ahead(unknown: list[str]) -> list[Finding]:
    if not unknown:
        return []
    return [
        warning(
            "database.newer_than_the_code",
            f"The database has migrations that this code does not know: {', '.join(unknown[:5])}.",
            "This machine runs an older release than the one that migrated: upgrade it.",
        )
    ]


def history_without_end() -> list[Finding]:
    if settings.HISTORY_KEPT or connection.vendor == "sqlite":
        return []
    with connection.cursor() as cursor:
        cursor.execute(HISTORY)
        return much_history(int(cursor.fetchone()[0]))


def much_history(rows: int) -> list[Finding]:
    if rows < MANY_ROWS:
        return []
    return [
        note(
            "database.much_history",
            f"About {rows:,} executions are kept, and HISTORY_KEPT=forever keeps all of them.",
            "Set HISTORY_KEPT to a retention, such as 90d.",
        )
    ]


def partitions_ahead() -> list[Finding]:
    if not partitioned():
        return []
    until = max(one.end for one in partitions() if one.end is not None)
    if until > database_now() + RUNNING_OUT:
        return []
    return [
        warning(
            "database.partitions_run_out",
            f"There are partitions until {until:%Y-%m-%d %H:%M} UTC. What is due later goes to the default one, "
            "which is never dropped.",
            "Run `manage.py partitions tend`, and have it run each day.",
        )
    ]
