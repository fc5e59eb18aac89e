"""Asks over the API what became of a job's due times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.lives import Life

HOUR = timedelta(hours=1)
HOURLY = {"type": "cron", "expression": "0 * * * *", "timezone": "UTC"}
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def ask(api, life: Life, start: datetime | None = None, end: datetime | None = None, **options) -> dict:
    window = {name: at.isoformat() for name, at in (("from", start), ("to", end)) if at is not None}
    answer = api.get(f"/api/v1/jobs/{life.job.id}/occurrences", window | options)
    assert answer.status_code == 200, answer.content
    return answer.json()


def outcomes(told: dict) -> list[tuple[str, str, str | None]]:
    return [(one["due_at"][11:16], one["outcome"], one["missed_because"]) for one in told["occurrences"]]
