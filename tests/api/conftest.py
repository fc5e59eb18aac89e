"""Where the API's tests run: all of them on both databases, and with Redis and RabbitMQ those that get that far.

Most of the API ends at the database, which is PostgreSQL in either of the larger modes. To ask it all once more would
take minutes and show nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

# What is announced to the due index, counted in Redis, or taken out of RabbitMQ.
REACH_SERVERS = {
    "test_admin_acts.py",
    "test_admin_dead_letters.py",
    "test_attempts.py",
    "test_backfill.py",
    "test_bulk.py",
    "test_bulk_acts.py",
    "test_dead_letters.py",
    "test_executions.py",
    "test_jobs.py",
    "test_limits.py",
    "test_stats.py",
    "test_windows.py",
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    ends_at_the_database = collection_path.name.startswith("test_") and collection_path.name not in REACH_SERVERS
    return True if os.environ.get("PUNCTUAL_TEST_MODE") == "full" and ends_at_the_database else None
