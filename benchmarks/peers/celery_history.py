"""Celery on RabbitMQ with its results in PostgreSQL: the nearest it has to a history of executions."""

from __future__ import annotations

import os

from benchmarks.peers.celery_plain import app, enqueue

__all__ = ["WORKER", "app", "enqueue"]

# Two of these are started. Tried on two cores, tasks a second at the better of the two figures of `run`: two workers of
# 2 processes 277, of 4 processes 248, of 8 processes 260; one worker of 2 processes 187, of 4 processes 278, of
# 8 processes 245. Two with threads came to 72: only forked processes keep their connections to the database.
WORKER = (
    *("celery", "-A", "benchmarks.peers.celery_history", "worker", "--loglevel", "ERROR"),
    *("--hostname", f"worker{os.getpid()}@%h"),  # two by the same name would complain
    *("--pool", "prefork", "--concurrency", "2"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
)

app.conf.update(
    task_ignore_result=False,
    result_backend="db+postgresql+psycopg://" + os.environ["DATABASE_URL"].partition("://")[2],
)
