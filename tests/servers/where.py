"""Which test files run in which mode: each wherever it could tell something new, and nowhere else.

What no mode changes is in `tests/unit` and runs once, with the first mode. What is about SQL runs on both databases.
PostgreSQL is the same in mode `database` and in mode `full`, so what ends there is not asked in both: `full` runs what
reaches Redis or RabbitMQ. A file in which one test differs from its neighbours says so itself, with a `skipif`.

Pure: the conftest of all tests asks it about each file.
"""

from pathlib import PurePath

from tests.servers.modes import Mode

# Of the API's tests, those that announce something to the due index, count in Redis, or take something out of RabbitMQ.
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
# Of the engine's, those that do none of that.
END_AT_THE_DATABASE = {
    "test_cancel_races.py",
    "test_dashboard_plans.py",
    "test_emptying.py",
    "test_ledger.py",
    "test_outcome_plans.py",
    "test_plans.py",
    "test_preview_kept.py",
}


def tells_something(file: PurePath, mode: Mode) -> bool:
    """Whether `file`, a path below `tests`, could fail in `mode` and pass in all modes before it."""
    if file.parts[:1] == ("browser",):
        return mode is Mode.EMBEDDED  # a browser sees no difference between the modes
    if mode is not Mode.FULL or not file.name.startswith("test_"):
        return True
    match file.parts:
        case ("api", name):
            return name in REACH_SERVERS
        case ("engine", name):
            return name not in END_AT_THE_DATABASE
    return True
