"""The servers of a run: those that the environment names, those on this machine, or private ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers import Kind, provide


class ServersMissing(Exception):
    """What is missing, why, and what to do."""


@contextmanager
def servers() -> Iterator[list[str]]:
    """Have the environment name all three, and tell where each comes from."""
    with provide(set(Kind)) as given:
        if given.missing:
            told = [
                f"{kind.title} is missing, and everything is measured with all three servers. Why: {absence.reason}. "
                f"To get it: {absence.remedy}. Or name one with {kind.variable}."
                for kind, absence in given.missing.items()
            ]
            raise ServersMissing("\n".join(told))
        os.environ.update(given.environment)
        yield given.described
