"""The cells of the matrix: which version of what, from which release of Debian, and which tests it may break. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

SERVERS = ("postgresql", "rabbitmq-server", "redis-server")

# Whatever a Python or a Django can break is anywhere: all that is quick, and everything running together once.
ANYWHERE = ("tests/unit", "tests/engine", "tests/whole/test_run_all.py")
LANGUAGES = ("curl", "nodejs")  # of the example workers, which are among them
# They need kubectl and terraform, which Debian's releases do not all have, and check files that no version here reads.
DEPLOYMENT = ("tests/unit/test_kubernetes.py", "tests/unit/test_kubernetes_choices.py", "tests/unit/test_terraform.py")
SQL = (
    "tests/engine/test_arrays.py",
    "tests/engine/test_batches.py",
    "tests/engine/test_cancel_races.py",
    "tests/engine/test_dashboard_plans.py",
    "tests/engine/test_dead_letters.py",
    "tests/engine/test_executor.py",
    "tests/engine/test_gauges.py",
    "tests/engine/test_ledger.py",
    "tests/engine/test_outcome_plans.py",
    "tests/engine/test_overlap.py",
    "tests/engine/test_partitions.py",
    "tests/engine/test_path.py",
    "tests/engine/test_plans.py",
    "tests/engine/test_recoverer.py",
    "tests/engine/test_shelving.py",
    "tests/engine/test_watcher.py",
)
MESSAGES = (
    "tests/engine/rabbitmq",
    "tests/engine/test_broker.py",
    "tests/engine/test_executor.py",
    "tests/engine/test_outages.py",
    "tests/engine/test_path.py",
    "tests/engine/test_recoverer.py",
    "tests/engine/test_dead_letters.py",
)
INDEX = (
    "tests/engine/test_buckets.py",
    "tests/engine/test_due_index.py",
    "tests/engine/test_path.py",
    "tests/engine/test_pollers.py",
    "tests/api/test_limits.py",
    "tests/whole/test_limits.py",
)


@dataclass(frozen=True)
class Cell:
    """One run. `expects` are the beginnings of the versions that its parts must say they have."""

    key: str
    suite: str  # of Debian
    expects: Mapping[str, str]
    modes: str
    files: Sequence[str]
    ignored: Sequence[str] = DEPLOYMENT  # of the files
    packages: Sequence[str] = ()  # of Debian, besides Python
    requirements: Sequence[str] = ()  # of Python, instead of what the lock has
    environment: Mapping[str, str] = field(default_factory=dict)


CELLS = (
    Cell("python3.13", "trixie", {"Python": "3.13."}, "embedded", ANYWHERE, packages=LANGUAGES),
    Cell("python3.14", "sid", {"Python": "3.14."}, "embedded", ANYWHERE, packages=LANGUAGES),
    Cell(
        "django6",
        "sid",
        {"Python": "3.14.", "Django": "6."},
        "embedded",
        (*ANYWHERE, "tests/api"),
        packages=LANGUAGES,
        requirements=("Django>=6,<7",),
    ),
    Cell(
        "oldest",
        "bookworm",
        {"Python": "3.11.", "Django": "5.2", "PostgreSQL": "15.", "RabbitMQ": "3.10.", "Redis": "7.0."},
        "full",
        ("tests/unit", *dict.fromkeys((*SQL, *MESSAGES, *INDEX))),
        packages=SERVERS,
        requirements=("Django==5.2",),
    ),
    Cell("postgresql17", "trixie", {"PostgreSQL": "17."}, "database", SQL, packages=("postgresql",)),
    Cell("postgresql18", "sid", {"PostgreSQL": "18."}, "database", SQL, packages=("postgresql",)),
    Cell("rabbitmq4.0", "trixie", {"RabbitMQ": "4.0."}, "full", MESSAGES, packages=SERVERS),
    Cell("rabbitmq4.3", "sid", {"RabbitMQ": "4.3."}, "full", MESSAGES, packages=SERVERS),
    Cell("redis8", "sid", {"Redis": "8."}, "full", INDEX, packages=SERVERS),
    *(
        Cell(
            f"valkey{version}",
            suite,
            {"Valkey": f"{version}."},
            "full",
            INDEX,
            packages=(*SERVERS, "valkey-server"),
            environment={"REDIS_SERVER": "valkey-server"},
        )
        for version, suite in (("8", "trixie"), ("9", "sid"))
    ),
)


def chosen(only: str) -> list[Cell]:
    """The cells that these comma-separated names begin; all of them, without a name."""
    names = [name.strip() for name in only.split(",") if name.strip()]
    if unknown := [name for name in names if not any(cell.key.startswith(name) for cell in CELLS)]:
        raise ValueError(f"Unknown cell: {', '.join(unknown)}. Known: {', '.join(cell.key for cell in CELLS)}.")
    return [cell for cell in CELLS if not names or any(cell.key.startswith(name) for name in names)]


def packages_of(suite: str, cells: Collection[Cell] = CELLS) -> list[str]:
    """All that the cells of a release need from it, so that it is installed once."""
    return sorted({package for cell in cells if cell.suite == suite for package in cell.packages})
