"""The due index in Redis: one sorted set of what is due, one of what is leased, and a marker.

Every change is one script, so it happens whole or not at all, and every script may be run
twice: the client may repeat a command whose answer it never saw.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import UUID, uuid4

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from scheduling.index.base import DueIndex, IndexIncomplete, IndexUnavailable

TIMEOUT = 2.0  # seconds for an answer: callers include people waiting for theirs
REBUILD_TIME = 600  # seconds after which an unfinished rebuild no longer counts
CHUNK = 2000  # members a call: Lua unpacks at most some 8,000 values

# KEYS: due, leased, marker. Members are ids in hex, scores are milliseconds.
LEASE = """
if redis.call('EXISTS', KEYS[3]) == 0 then return false end
local now, lease_until, limit = ARGV[1], ARGV[2], ARGV[3]
local expired = redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
for _, job in ipairs(expired) do
  redis.call('ZREM', KEYS[2], job)
  redis.call('ZADD', KEYS[1], 'LT', now, job)
end
local jobs = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
for _, job in ipairs(jobs) do
  redis.call('ZREM', KEYS[1], job)
  redis.call('ZADD', KEYS[2], lease_until, job)
end
return jobs
"""
# ARGV in all of these: job, score, job, score, …
PUT = """
for i = 1, #ARGV, 2 do
  redis.call('ZREM', KEYS[2], ARGV[i])
  redis.call('ZADD', KEYS[1], ARGV[i + 1], ARGV[i])
end
"""
SETTLE = """
for i = 1, #ARGV, 2 do
  if redis.call('ZREM', KEYS[2], ARGV[i]) == 1 and ARGV[i + 1] ~= '' then
    redis.call('ZADD', KEYS[1], ARGV[i + 1], ARGV[i])
  end
end
"""
RESTORE = """
for i = 1, #ARGV, 2 do
  if not redis.call('ZSCORE', KEYS[2], ARGV[i]) then
    redis.call('ZADD', KEYS[1], 'LT', ARGV[i + 1], ARGV[i])
  end
end
"""
# KEYS: marker, this rebuild's own key. The latter is gone if Redis was wiped since it was set.
FINISH_REBUILD = """
if redis.call('DEL', KEYS[2]) == 1 then redis.call('SET', KEYS[1], '1') end
"""


class RedisDueIndex(DueIndex):
    def __init__(self, url: str, *, prefix: str = "") -> None:
        self._redis = redis.Redis.from_url(
            url,
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            retry=Retry(ConstantBackoff(0.05), retries=1),  # by default ten: a silent server would hold a POST for long
        )
        # The braces keep the three keys on one node of a Redis cluster.
        self._due, self._leased, self._marker = (f"{prefix}{{punctual}}:{key}" for key in ("due", "leased", "complete"))
        self._sets = [self._due, self._leased]
        script = self._redis.register_script
        self._lease, self._put, self._settle = script(LEASE), script(PUT), script(SETTLE)
        self._restore, self._finish_rebuild = script(RESTORE), script(FINISH_REBUILD)

    def put(self, due: Mapping[UUID, datetime]) -> None:
        self._each_chunk(self._put, due)

    def discard(self, jobs: Collection[UUID]) -> None:
        if jobs:
            members = [job.hex for job in jobs]
            with _told_plainly(), self._redis.pipeline() as pipe:
                pipe.zrem(self._due, *members)
                pipe.zrem(self._leased, *members)
                pipe.execute()

    def lease(self, *, now: datetime, until: datetime, limit: int) -> list[UUID]:
        with _told_plainly():
            jobs = self._lease(keys=[*self._sets, self._marker], args=[_score(now), _score(until), min(limit, CHUNK)])
        if jobs is None:
            raise IndexIncomplete("Redis was wiped or is new: the due index has to be rebuilt from the database.")
        return [UUID(job.decode()) for job in jobs]

    def settle(self, next_due: Mapping[UUID, datetime | None]) -> None:
        self._each_chunk(self._settle, next_due)

    def restore(self, due: Mapping[UUID, datetime]) -> None:
        self._each_chunk(self._restore, due)

    @contextmanager
    def rebuilding(self) -> Iterator[None]:
        key = f"{self._marker}:{uuid4().hex}"
        with _told_plainly():
            self._redis.set(key, "1", ex=REBUILD_TIME)
        yield
        with _told_plainly():
            self._finish_rebuild(keys=[self._marker, key])

    def size(self) -> int:
        with _told_plainly():
            return sum(self._redis.zcard(key) for key in self._sets)

    def known(self, jobs: Collection[UUID]) -> dict[UUID, datetime]:
        members = [job.hex for job in jobs]
        if not members:
            return {}
        with _told_plainly(), self._redis.pipeline() as pipe:
            for key in self._sets:
                pipe.zmscore(key, members)
            due, leased = pipe.execute()
        # Of a leased one, the end of its lease: whoever holds it now may be gone.
        scores = zip(jobs, due, leased, strict=True)
        return {job: _instant(at or until) for job, at, until in scores if at is not None or until is not None}

    def complete(self) -> bool:
        with _told_plainly():
            return bool(self._redis.exists(self._marker))

    def server(self) -> dict[str, str]:
        with _told_plainly():
            told = {key: str(value) for key, value in self._redis.info().items()}
        with suppress(redis.RedisError):  # hosted ones keep this command to themselves
            told["save"] = self._redis.config_get("save").get("save", "")
        return told

    def ping(self) -> None:
        with _told_plainly():
            self._redis.ping()

    def _each_chunk(self, script: Any, due: Mapping[UUID, datetime | None]) -> None:
        entries = iter(due.items())
        while chunk := list(islice(entries, CHUNK)):
            with _told_plainly():
                script(keys=self._sets, args=_flat(chunk))


def _flat(entries: Sequence[tuple[UUID, datetime | None]]) -> list[str]:
    return [text for job, at in entries for text in (job.hex, "" if at is None else str(_score(at)))]


def _score(instant: datetime) -> int:
    """Milliseconds: exact in a double, and rounded down, so that no job is found later than it is due."""
    return int(instant.timestamp() * 1000)


def _instant(score: float) -> datetime:
    return datetime.fromtimestamp(score / 1000, UTC)


@contextmanager
def _told_plainly() -> Iterator[None]:
    try:
        yield
    except redis.RedisError as error:
        raise IndexUnavailable(f"Redis does not answer: {error}") from error
