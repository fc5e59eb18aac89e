"""The three ways Punctual runs, as test runs: what each needs, its environment and its command.

And the two parts of a run: what everybody waits for, and what takes long and shows once more, from further away, what
the quick part shows from near. Each test is in one of them. Which file runs in which mode is said in `where`.

Pure: `__main__` starts what is described here.
"""

import sys
from collections.abc import Mapping, Sequence
from enum import Enum

from tests.servers.kinds import Kind

WORKERS = "4"  # test processes: on two cores, for half of their time they wait for a due time, a lease or a process
FEW_WORKERS = "2"  # for the long part: its few tests are busy all the time
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
LONG = (
    "tests/browser",  # each page in a real browser, light and dark, wide and narrow
    "tests/whole/test_celery_beat.py",  # the import from the real django-celery-beat
    "tests/whole/test_client_package.py",  # the client built and installed into an empty environment
    "tests/whole/test_chaos.py",  # a slice of `make chaos`
    "tests/whole/test_fuzz.py",  # a slice of `make fuzz`
    "tests/whole/test_operations.py",  # a machine without Docker, as the page has it
    "tests/whole/test_pages.py",  # what else the pages for operators tell to type
    "tests/whole/test_restore.py",  # an older backup, and servers that remember more
    "tests/whole/test_tutorial.py",  # from its first line to its last
    "tests/whole/test_upgrade.py",  # the previous release beside this one
)


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


class Part(Enum):
    """How much of the tests to run."""

    QUICK = "quick"
    LONG = "long"
    ALL = "all"

    @classmethod
    def named(cls, word: str) -> "Part":
        try:
            return cls(word.strip().lower())
        except ValueError:
            raise ValueError(f"No part named {word!r}. Known: {', '.join(part.value for part in cls)}.") from None

    @property
    def words(self) -> list[str]:
        """What pytest is told."""
        match self:
            case Part.QUICK:
                return ["-n", WORKERS, *(f"--ignore={path}" for path in LONG)]
            case Part.LONG:
                return ["-n", FEW_WORKERS, *LONG]
            case Part.ALL:
                return ["-n", WORKERS]


def environment(mode: Mode, servers: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """Return `base` with exactly the servers of `mode`: one too many would test another mode.

    Bytecode is kept, whatever the machine's custom: a run starts a hundred processes, and each would compile it all.
    """
    theirs = {kind.variable for kind in Kind} | {NO_BYTECODE}
    rest = {name: value for name, value in base.items() if name not in theirs}
    urls = {kind.variable: servers[kind.variable] for kind in mode.needs}
    return rest | urls | {"PUNCTUAL_TEST_MODE": mode.key}


def command(arguments: Sequence[str], *, first: bool, part: Part = Part.ALL) -> list[str]:
    """Return the pytest command. Unit tests know no mode: they run once, with the first."""
    once = [] if first else ["--ignore=tests/unit"]
    return [sys.executable, "-m", "pytest", *part.words, *once, *arguments]
