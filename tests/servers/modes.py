"""The three ways Punctual runs, as test runs: what each needs, its environment and its command.

Pure: `__main__` starts what is described here.
"""

import sys
from collections.abc import Mapping, Sequence
from enum import Enum

from tests.servers.kinds import Kind

WORKERS = "2"  # test processes; more would measure the machine and not the code


class Mode(Enum):
    """A way to run, in the order in which they are tested: the fewest servers first."""

    EMBEDDED = ("embedded", ())
    DATABASE = ("database", (Kind.POSTGRESQL,))
    FULL = ("full", (Kind.POSTGRESQL, Kind.REDIS, Kind.RABBITMQ))

    def __init__(self, key: str, needs: tuple[Kind, ...]):
        self.key = key
        self.needs = needs

    @classmethod
    def named(cls, word: str) -> "Mode":
        for mode in cls:
            if word.strip().lower() == mode.key:
                return mode
        raise ValueError(f"No mode named {word!r}. Known: {', '.join(mode.key for mode in cls)}.")


def environment(mode: Mode, servers: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """Return `base` with exactly the servers of `mode`: one too many would test another mode."""
    theirs = {kind.variable for kind in Kind}
    rest = {name: value for name, value in base.items() if name not in theirs}
    urls = {kind.variable: servers[kind.variable] for kind in mode.needs}
    return rest | urls | {"PUNCTUAL_TEST_MODE": mode.key}


def command(arguments: Sequence[str], *, first: bool) -> list[str]:
    """Return the pytest command. Unit tests know no mode: they run once, with the first."""
    once = [] if first else ["--ignore=tests/unit"]
    return [sys.executable, "-m", "pytest", "-n", WORKERS, *once, *arguments]
