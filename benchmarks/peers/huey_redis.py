"""Huey on Redis, keeping no results."""

from __future__ import annotations

import os

from huey import RedisHuey

from benchmarks.peers.inside import NAME, note

# Tried on two cores, thousands of tasks a second at the better of the two figures of `run`: 4 processes 2.7 and 3.1,
# 8 processes 2.8, 2 processes 1.8, 4 threads 1.2.
WORKER = (
    *("huey.bin.huey_consumer", "benchmarks.peers.huey_redis.huey", "--quiet", "--no-periodic"),
    *("--worker-type", "process", "--workers", "4"),
)

huey = RedisHuey(os.environ[NAME], url=os.environ["REDIS_URL"], results=False)


@huey.task()
def nothing() -> None:
    note()


def enqueue(count: int) -> None:
    for _ in range(count):
        nothing()
