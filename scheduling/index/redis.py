"""The due index in Redis: one sorted set of what is due, one of what is leased, and a marker, in each slot.

Every change is one script, so it happens whole or not at all, and every script may be run
twice: the client may repeat a command whose answer it never saw. No script names two slots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from random import randrange
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from jobs.ids import uuid_of
from scheduler_project.redis_client import FAILURES, Client, connect, one_server
from scheduling.index.base import DueIndex, IndexIncomplete, IndexUnavailable
from scheduling.index.slots import Slot, by_slot, named_slots

TIMEOUT = 2.0  # seconds for an answer: callers include people waiting for theirs
PAUSE = 0.05  # seconds before a question is asked once more
REBUILD_TIME = 600  # seconds after which an unfinished rebuild no longer counts
UNASKED = 3600  # seconds after which an index that no poller asks is gone: there is one with other slots in its place
CHUNK = 2000  # members a call: Lua unpacks at most some 8,000 values

# KEYS: due, leased, marker. Members are ids in hex, scores are milliseconds.
LEASE = """
local left = redis.call('TTL', KEYS[3])
if left == -2 then return false end
local now, lease_until, limit, unasked = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if left < unasked / 2 then
  for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, unasked) end
end
local expired = redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
for _, job in ipairs(expired) do
  redis.call('ZREM', KEYS[2], job)
  redis.call('ZADD', KEYS[1], 'LT', now, job)
end
local jobs = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
if #jobs > 0 then
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #jobs - 1)
  local leased = {}
  for i, job in ipairs(jobs) do leased[2 * i - 1], leased[2 * i] = lease_until, job end
  redis.call('ZADD', KEYS[2], unpack(leased))
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
DISCARD = """
for i = 1, #ARGV, 2 do
  redis.call('ZREM', KEYS[1], ARGV[i])
  redis.call('ZREM', KEYS[2], ARGV[i])
end
"""
SETTLE = """
local over = {}
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    over[#over + 1] = ARGV[i]
  elseif redis.call('ZREM', KEYS[2], ARGV[i]) == 1 then
    redis.call('ZADD', KEYS[1], ARGV[i + 1], ARGV[i])
  end
end
if #over > 0 then redis.call('ZREM', KEYS[2], unpack(over)) end
"""
RESTORE = """
for i = 1, #ARGV, 2 do
  if not redis.call('ZSCORE', KEYS[2], ARGV[i]) then
    redis.call('ZADD', KEYS[1], 'LT', ARGV[i + 1], ARGV[i])
  end
end
"""
# KEYS: due, leased, marker, this rebuild's own key. The latter is gone if Redis was wiped since it was set.
FINISH_REBUILD = """
if redis.call('DEL', KEYS[4]) == 1 then
  redis.call('SET', KEYS[3], '1')
  for i = 1, 3 do redis.call('EXPIRE', KEYS[i], ARGV[1]) end
end
"""


class Scripts(NamedTuple):
    lease: Any
    put: Any
    discard: Any
    settle: Any
    restore: Any
    finish_rebuild: Any


class RedisDueIndex(DueIndex):
    def __init__(self, url: str, *, prefix: str = "", slots: int = 1) -> None:
        self._url = url
        self._slots = named_slots(slots, prefix)
        # Pollers begin anywhere and go round, so that any number of them share the slots and none is left out.
        self._turns = count(randrange(slots))

    @cached_property
    def _redis(self) -> Client:
        return connect(self._url, timeout=TIMEOUT, pause=PAUSE)

    @cached_property
    def _scripts(self) -> Scripts:
        return Scripts(*map(self._redis.register_script, (LEASE, PUT, DISCARD, SETTLE, RESTORE, FINISH_REBUILD)))

    def put(self, due: Mapping[UUID, datetime]) -> None:
        with _told_plainly():
            self._each_chunk(self._scripts.put, due)

    def discard(self, jobs: Collection[UUID]) -> None:
        with _told_plainly():
            self._each_chunk(self._scripts.discard, dict.fromkeys(jobs))

    def lease(self, *, now: datetime, until: datetime, limit: int) -> list[UUID]:
        first, found = next(self._turns), []
        for turn in range(first, first + len(self._slots)):
            try:
                found += self._lease_from(self._slots[turn % len(self._slots)], now, until, limit - len(found))
            except (IndexIncomplete, IndexUnavailable):
                if not found:
                    raise
                break  # what is leased must not wait for the others; they are told of when their turn comes first
            if len(found) >= limit:
                break
        return found

    def _lease_from(self, slot: Slot, now: datetime, until: datetime, limit: int) -> list[UUID]:
        with _told_plainly():
            jobs = self._scripts.lease(keys=slot, args=[_score(now), _score(until), min(limit, CHUNK), UNASKED])
        if jobs is None:
            raise IndexIncomplete("Redis was wiped or is new: the due index has to be rebuilt from the database.")
        return [uuid_of(int(job, 16)) for job in jobs]

    def settle(self, next_due: Mapping[UUID, datetime | None]) -> None:
        with _told_plainly():
            self._each_chunk(self._scripts.settle, next_due)

    def restore(self, due: Mapping[UUID, datetime]) -> None:
        with _told_plainly():
            self._each_chunk(self._scripts.restore, due)

    @contextmanager
    def rebuilding(self) -> Iterator[None]:
        rebuild = uuid4().hex
        with _told_plainly():
            for slot in self._slots:
                self._redis.set(f"{slot.marker}:{rebuild}", "1", ex=REBUILD_TIME)
        yield
        with _told_plainly():
            for slot in self._slots:
                self._scripts.finish_rebuild(keys=[*slot, f"{slot.marker}:{rebuild}"], args=[UNASKED])

    def next_due(self, *, after: datetime) -> datetime | None:
        with _told_plainly(), self._redis.pipeline(transaction=False) as pipe:
            for slot in self._slots:
                pipe.zrange(slot.due, f"({_score(after)}", "+inf", byscore=True, offset=0, num=1, withscores=True)
            scores = [score for found in pipe.execute() for _, score in found]
        # Scores are rounded down, and whoever comes too early finds a job that is not due.
        return _instant(min(scores) + 1) if scores else None

    def size(self) -> int:
        with _told_plainly(), self._redis.pipeline(transaction=False) as pipe:
            for slot in self._slots:
                for key in slot.sets:
                    pipe.zcard(key)
            return sum(pipe.execute())

    def known(self, jobs: Collection[UUID]) -> dict[UUID, datetime]:
        if not jobs:
            return {}
        shares = by_slot(((job, None) for job in jobs), len(self._slots))
        with _told_plainly(), self._redis.pipeline(transaction=False) as pipe:
            for place, share in shares.items():
                for key in self._slots[place].sets:
                    pipe.zmscore(key, [job.hex for job, _ in share])
            answers = iter(pipe.execute())
        # Of a leased one, the end of its lease: whoever holds it now may be gone.
        return {
            job: _instant(at or until)
            for share in shares.values()
            for (job, _), at, until in zip(share, next(answers), next(answers), strict=True)
            if at is not None or until is not None
        }

    def complete(self) -> bool:
        with _told_plainly():
            return all(self._redis.exists(slot.marker) for slot in self._slots)

    def server(self) -> dict[str, str]:
        """Of a cluster, one of its nodes: they are mostly set up alike."""
        with _told_plainly():
            one = one_server(self._redis)
            told = {key: str(value) for key, value in one.info().items()}
        with suppress(*FAILURES):  # hosted ones keep this command to themselves
            told["save"] = one.config_get("save").get("save", "")
        return told

    def ping(self) -> None:
        with _told_plainly():
            self._redis.ping()

    def _each_chunk(self, script: Any, due: Mapping[UUID, datetime | None]) -> None:
        for place, share in by_slot(due.items(), len(self._slots)).items():
            for start in range(0, len(share), CHUNK):
                script(keys=self._slots[place].sets, args=_flat(share[start : start + CHUNK]))


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
    except FAILURES as error:
        raise IndexUnavailable(f"Redis does not answer: {error}") from error
