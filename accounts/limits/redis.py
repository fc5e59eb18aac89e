"""Buckets in Redis: a key each, and one script for a draw.

A limit is no reason to answer nobody: while Redis is away it is said once, and not asked again for a moment each time,
so that a silent server holds few requests up. What to do without limits is for the caller to say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import structlog

from accounts.limits.base import Allowance, Buckets, BucketsUnavailable, Draw
from scheduler_project.redis_client import FAILURES, Client, connect

logger = structlog.get_logger(__name__)

TIMEOUT = 1.0  # seconds for an answer: somebody waits for theirs
PAUSE = 5.0  # seconds not to ask again after a failure

# KEYS: the buckets. ARGV: step, span, step, span, … in microseconds. Answers admitted, full_in, admitted, full_in, …
TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local answers = {}
for i, key in ipairs(KEYS) do
  local step, span = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local full_at = math.max(tonumber(redis.call('GET', key) or 0), now)
  local admitted = full_at + step - now <= span
  if admitted then
    full_at = full_at + step
    redis.call('SET', key, string.format('%.0f', full_at), 'PX', math.ceil((full_at - now) / 1000) + 1000)
  end
  table.insert(answers, admitted and 1 or 0)
  table.insert(answers, full_at - now)
  if not admitted then break end
end
return answers
"""


class RedisBuckets(Buckets):
    def __init__(self, url: str, *, prefix: str = "") -> None:
        self._url = url
        self._prefix = f"{prefix}{{punctual}}:bucket:"  # the braces keep all of them on one node of a cluster
        self._ask_at = 0.0  # by the monotonic clock; 0 while it answers

    @cached_property
    def _redis(self) -> Client:
        # Asked once more for a connection that was closed while idle. A draw that is repeated costs one token too many.
        return connect(self._url, timeout=TIMEOUT, pause=0.01)

    @cached_property
    def _take(self) -> Any:
        return self._redis.register_script(TAKE)

    def take(self, allowances: Sequence[Allowance]) -> list[Draw]:
        keys = [self._prefix + one.name for one in allowances]
        arguments = [number for one in allowances for number in (one.taken, one.span)]
        answers = self._ask(lambda: self._take(keys=keys, args=arguments))
        drawn = zip(allowances, answers[::2], answers[1::2], strict=False)
        return [Draw(allowance, bool(admitted), full_in) for allowance, admitted, full_in in drawn]

    def _ask(self, question: Callable[[], Any]) -> Any:
        if time.monotonic() < self._ask_at:
            raise BucketsUnavailable("Redis did not answer a moment ago.")
        try:
            answer = question()
        except FAILURES as error:
            if not self._ask_at:
                logger.warning("limits.unavailable", error=str(error), remedy="requests are let through meanwhile")
            self._ask_at = time.monotonic() + PAUSE
            raise BucketsUnavailable(f"Redis does not answer: {error}") from error
        if self._ask_at:
            logger.info("limits.available")
            self._ask_at = 0.0
        return answer
