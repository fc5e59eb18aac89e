"""Which due jobs one poller looks after, where the database itself is the due index."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import connection

from jobs.ledger.batch import as_uuid, execute


def lease_due(*, now: datetime, until: datetime, limit: int) -> list[UUID]:
    """Hide due jobs that nobody else has leased until `until`, and return them, earliest first."""
    # Jobs another poller is leasing at this moment are skipped, not waited for. SQLite has one writer at a time anyway.
    skipping = "" if connection.vendor == "sqlite" else "FOR NO KEY UPDATE SKIP LOCKED"
    rows = execute(
        f"""
        WITH due AS (
            SELECT id AS this FROM jobs_job
            WHERE next_run_at <= %(now)s AND (leased_until IS NULL OR leased_until <= %(now)s)
            ORDER BY next_run_at LIMIT %(limit)s {skipping}
        )
        UPDATE jobs_job SET leased_until = %(until)s FROM due WHERE id = this RETURNING next_run_at, id
        """,
        now=now,
        until=until,
        limit=limit,
    )
    return [as_uuid(job) for _, job in sorted(rows)]
