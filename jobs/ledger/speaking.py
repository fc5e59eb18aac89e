"""What handlers say: lines and progress, by the group. May be repeated: what is there already is not written twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from jobs.ledger.batch import HERE, run

Said = tuple[UUID, int, int, datetime]  # an execution, an attempt at it, the number of what it said, and when


def keep_lines(lines: Sequence[tuple[*Said, str, str]]) -> None:
    """Keep lines, each with its level and text. Those of an execution that is no more are left out."""
    run(
        f"""
        INSERT INTO jobs_logline (execution_id, attempt, number, at, level, text)
        SELECT e.id, r.try, r.place, r.said, r.weight, r.words FROM r JOIN {HERE} AS e ON e.id = r.this
        WHERE true ON CONFLICT (execution_id, attempt, number) DO NOTHING
        """,
        {
            "this": "uuid",
            "try": "integer",
            "place": "integer",
            "said": "timestamptz",
            "weight": "text",
            "words": "text",
        },
        lines,
    )


def keep_progress(steps: Sequence[tuple[*Said, float, str]]) -> None:
    """Keep how far executions are, one step each. What was said earlier, or by an earlier attempt, changes nothing."""
    run(
        f"""
        INSERT INTO jobs_progress (execution_id, attempt, number, at, fraction, message)
        SELECT e.id, r.try, r.place, r.said, r.done, r.words FROM r JOIN {HERE} AS e ON e.id = r.this
        WHERE true ORDER BY e.id
        ON CONFLICT (execution_id) DO UPDATE SET attempt = excluded.attempt, number = excluded.number,
            at = excluded.at, fraction = excluded.fraction, message = excluded.message
        WHERE (excluded.attempt, excluded.number) > (jobs_progress.attempt, jobs_progress.number)
        """,
        {
            "this": "uuid",
            "try": "integer",
            "place": "integer",
            "said": "timestamptz",
            "done": "double precision",
            "words": "text",
        },
        steps,
    )
