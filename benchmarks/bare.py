"""The same durable steps with nothing around them: `python -m benchmarks.bare poll|execute`.

Lease, record, confirm, mark, claim, read, complete, written as plainly as psycopg, redis and pika allow, on the
tables and queues of an installation: what this design costs on the machine of the day, if the rest cost nothing.
No handler is called, nothing is retried, nothing is looked after.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pika
import psycopg
import redis

from jobs.ids import execution_id

BATCH = 1000
PER_MESSAGE = 500
LEASE = timedelta(seconds=15)
UNMARKED = timedelta(seconds=2)  # what is claimed by then needs no mark
TAKE = """
local jobs = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[3])
if #jobs > 0 then
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #jobs - 1)
  local leased = {}
  for i, job in ipairs(jobs) do leased[2 * i - 1], leased[2 * i] = ARGV[2], job end
  redis.call('ZADD', KEYS[2], unpack(leased))
end
return jobs
"""
LOCK = """
    SELECT id, tenant_id, task, priority, next_run_at FROM jobs_job WHERE id = ANY(%s::uuid[])
    ORDER BY id FOR NO KEY UPDATE
"""
NEXT = "UPDATE jobs_job SET next_run_at = NULL, status = 'FINISHED' WHERE id = ANY(%s::uuid[])"
RECORD = """
    INSERT INTO jobs_execution (id, job_id, tenant_id, task, priority, cause, status, attempt, forgiven,
        due_at, not_before, wake_at, recorded_at, worker, error, reason, fresh)
    SELECT r.this, r.job, %(tenant)s, %(task)s, %(priority)s, 'schedule', 'SCHEDULED', 0, 0,
        %(due)s, %(due)s, %(wake)s, %(now)s, '', '', '', true
    FROM unnest(%(ids)s::uuid[], %(jobs)s::uuid[]) AS r(this, job)
    ON CONFLICT (id) DO NOTHING
"""
LIST = "INSERT INTO jobs_cohort (look_at, executions) VALUES (%s, %s::uuid[])"
# Waiting for what is being claimed, row by row in an order of one's own, would end in a deadlock.
MARK = """
    UPDATE jobs_execution SET status = 'QUEUED', queued_at = %s, wake_at = %s, fresh = false
    WHERE id IN (SELECT id FROM jobs_execution WHERE id = ANY(%s::uuid[]) AND attempt = 0
        AND coalesce(status, '') = 'SCHEDULED' FOR NO KEY UPDATE SKIP LOCKED)
"""
CLAIM = """
    UPDATE jobs_execution SET status = 'RUNNING', attempt = attempt + 1, started_at = %s, wake_at = %s, worker = 'bare'
    WHERE id = ANY(%s::uuid[]) AND coalesce(status, '') IN ('SCHEDULED', 'QUEUED', 'RETRYING') RETURNING id
"""
READ = """
    SELECT e.id, e.attempt, coalesce(e.payload, j.payload) FROM jobs_execution e JOIN jobs_job j ON j.id = e.job_id
    WHERE e.id = ANY(%s::uuid[])
"""
COMPLETE = """
    UPDATE jobs_execution SET status = 'COMPLETED', finished_at = %s, wake_at = NULL, result = NULL
    WHERE id = ANY(%s::uuid[]) AND attempt = 1 AND status = 'RUNNING'
"""


def array(ids: list[UUID]) -> str:
    return "{" + ",".join([one.hex for one in ids]) + "}"


def score(instant: datetime) -> int:
    return int(instant.timestamp() * 1000)


def channel() -> Any:
    connection = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
    return connection.channel()


def poll(prefix: str) -> None:
    index = redis.Redis.from_url(os.environ["REDIS_URL"])
    take = index.register_script(TAKE)
    due, leased = (f"{prefix}{{punctual}}:{name}" for name in ("due", "leased"))
    broker = channel()
    broker.confirm_delivery()
    sent: deque[tuple[datetime, list[UUID]]] = deque()
    lasting = pika.BasicProperties(delivery_mode=2, priority=5)
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        while True:
            now = datetime.now(UTC)
            if sent and sent[0][0] < now - UNMARKED:
                connection.execute(MARK, [now, now + LEASE, array(sent.popleft()[1])])
            jobs = take(keys=[due, leased], args=[score(now), score(now + LEASE), BATCH])
            if not jobs:
                time.sleep(0.01)
                continue
            with connection.transaction():
                rows = connection.execute(LOCK, [array([UUID(job.decode()) for job in jobs])]).fetchall()
                [tenant, task, priority, at] = rows[0][1:]
                ids = [execution_id(job, at, "schedule") for job, *_ in rows]
                named = array([job for job, *_ in rows])
                connection.execute(NEXT, [named])
                alike = {
                    "tenant": tenant,
                    "task": task,
                    "priority": priority,
                    "due": at,
                    "wake": now + LEASE,
                    "now": now,
                }
                connection.execute(LIST, [now + LEASE, array(ids)])
                connection.execute(RECORD, alike | {"ids": array(ids), "jobs": named})
            index.zrem(leased, *jobs)
            for start in range(0, len(ids), PER_MESSAGE):
                body = {"v": 1, "task": task, "executions": [str(one) for one in ids[start : start + PER_MESSAGE]]}
                broker.basic_publish(f"{prefix}jobs.exchange", task, json.dumps(body), lasting, mandatory=True)
            sent.append((now, ids))


def execute(prefix: str, task: str) -> None:
    broker = channel()
    broker.basic_qos(prefetch_count=4)
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        for method, _, body in broker.consume(f"{prefix}jobs.queue.{task}"):
            now = datetime.now(UTC)
            ids = "{" + ",".join(json.loads(body)["executions"]) + "}"
            won = connection.execute(CLAIM, [now, now + LEASE, ids]).fetchall()
            broker.basic_ack(method.delivery_tag)
            mine = array([one for (one,) in won])
            connection.execute(READ, [mine]).fetchall()
            connection.execute(COMPLETE, [datetime.now(UTC), mine])


if __name__ == "__main__":
    prefix = os.environ["NAME_PREFIX"]
    if sys.argv[1] == "poll":
        poll(prefix)
    else:
        execute(prefix, sys.argv[2])
