"""Whether the due index answers, keeps what it is told, and says what the database says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from jobs.clock import database_now
from jobs.models import Job
from scheduler_project.doctor.findings import Finding, error, note, warning
from scheduling.index import DueIndex, IndexUnavailable, get_due_index

OLDEST = (6, 2)  # ZRANGE … BYSCORE and ZMSCORE
NO_EVICTION = "noeviction"
MEGABYTE = 1024 * 1024
LITTLE_ROOM = 0.9  # of maxmemory in use
BATCH = 2000  # jobs compared at once
MOST = 200_000  # jobs compared in all: some ten seconds
MARGIN = timedelta(seconds=2)
REBUILD = "rebuild_index"


def server() -> list[Finding]:
    try:
        told = get_due_index().server()
    except IndexUnavailable as fault:
        return [
            error(
                "redis.unreachable",
                f"{fault}. Meanwhile pollers ask the database, which is slower.",
                "Start Redis, and check REDIS_URL.",
            )
        ]
    return of_redis(told) if told else []


def of_redis(told: Mapping[str, str]) -> list[Finding]:
    return [*_version(told.get("redis_version", "0")), *_eviction(told), *_room(told), *_persistence(told)]


def _version(running: str) -> list[Finding]:
    parts = tuple(int(part) for part in running.split(".")[:2] if part.isdigit())
    if parts >= OLDEST:
        return []
    return [error("redis.too_old", f"Redis {running} lacks commands that we use.", "Upgrade it to 6.2 or later.")]


def _eviction(told: Mapping[str, str]) -> list[Finding]:
    policy = told.get("maxmemory_policy", NO_EVICTION)
    if policy == NO_EVICTION:
        return []  # and under any other: our keys have an end, which whoever asks the index moves on
    return [
        error(
            "redis.evicts",
            f"Redis' maxmemory-policy is {policy}: when memory runs short it may throw the whole due index away.",
            "CONFIG SET maxmemory-policy noeviction, and write it into redis.conf; caches belong into another Redis.",
        )
    ]


def _room(told: Mapping[str, str]) -> list[Finding]:
    """One that may not evict refuses to grow: scripts that first remove something pass, all else fails."""
    used, most = int(told.get("used_memory", 0)), int(told.get("maxmemory", 0))
    if not most or used < LITTLE_ROOM * most or told.get("maxmemory_policy", NO_EVICTION) != NO_EVICTION:
        return []
    full = used >= most
    so = "the due index can neither be rebuilt nor given back what it lost" if full else "once full, it refuses to grow"
    return [
        (error if full else warning)(
            "redis.memory_full",
            f"Redis uses {used // MEGABYTE:,} MB of its maxmemory of {most // MEGABYTE:,} MB: {so}.",
            "CONFIG SET maxmemory to more, and write it into redis.conf; a job takes some 150 bytes. See what else is "
            "kept there: redis-cli --bigkeys.",
        )
    ]


def _persistence(told: Mapping[str, str]) -> list[Finding]:
    failed = [name for name in ("rdb_last_bgsave_status", "aof_last_write_status") if told.get(name, "ok") != "ok"]
    if failed:
        return [
            error(
                "redis.cannot_save",
                f"Redis fails to write to its disk ({', '.join(failed)}): it soon refuses all changes.",
                "Look into its log; mostly its disk is full, or vm.overcommit_memory is 0.",
            )
        ]
    if told.get("aof_enabled") == "0" and told.get("save", "unknown") == "":
        return [
            note(
                "redis.keeps_nothing",
                "Redis keeps nothing on disk: after a restart the due index is rebuilt from the database.",
                "appendonly yes spares that: with millions of jobs a rebuild takes a minute.",
            )
        ]
    return []


class Drift(NamedTuple):
    compared: int
    missing: list[UUID]
    late: list[UUID]


def drift() -> list[Finding]:
    """Whether the index names every job by the time it is due. What it names too early, or twice, does no harm."""
    index = get_due_index()
    if not settings.REDIS_URL:
        return []  # the jobs themselves are the index
    try:
        if not index.complete():
            return [
                error(
                    "index.incomplete",
                    "The due index was wiped or never filled.",
                    "The next round of any poller rebuilds it; --repair does it now.",
                    repair=REBUILD,
                )
            ]
        return _told(measure(index))
    except IndexUnavailable:
        return []  # told of above


def measure(index: DueIndex) -> Drift:
    rows = Job.objects.scheduled().order_by("next_run_at").values_list("pk", "next_run_at")[:MOST].iterator(BATCH)
    compared, missing, late = 0, [], []
    while batch := dict(islice(rows, BATCH)):
        compared += len(batch)
        absent, behind = _compare(index, batch)
        # Once more for those: what was changed between the two looks is no drift.
        again = dict(Job.objects.scheduled().filter(pk__in=[*absent, *behind]).values_list("pk", "next_run_at"))
        absent, behind = _compare(index, again)
        missing += absent
        late += behind
    return Drift(compared, missing, late)


def _compare(index: DueIndex, rows: Mapping[UUID, datetime]) -> tuple[list[UUID], list[UUID]]:
    if not rows:
        return [], []
    known = index.known(list(rows))
    # One in a poller's hands is known by the end of its lease.
    in_hand = database_now() + settings.POLL_LEASE
    late = [job for job, due in rows.items() if job in known and known[job] > max(due, in_hand) + MARGIN]
    return [job for job in rows if job not in known], late


def _told(found: Drift) -> list[Finding]:
    if not found.missing and not found.late:
        return []
    named = ", ".join(str(job) for job in [*found.missing, *found.late][:3])
    return [
        warning(
            "index.drift",
            f"Of {found.compared:,} jobs compared, the due index does not know {len(found.missing):,} and names "
            f"{len(found.late):,} too late, such as {named}. Each is put back when overdue, and starts late.",
            "Run with --repair to rebuild the index now; see whether Redis was restored from an old backup.",
            repair=REBUILD,
        )
    ]
