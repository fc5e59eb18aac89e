"""Where handlers run, and what it promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence

from execution.retry import Interrupted
from execution.voice import Words
from jobs.ledger import Claim, Outcome

Finished = tuple[Claim, Outcome]
Report = Callable[[Sequence[Finished]], None]
Hear = Callable[[Claim, Words], None]


class Workshop(ABC):
    """Runs claims and reports an outcome for each, exactly once. Used by one executor."""

    @abstractmethod
    def start(self, report: Report, hear: Hear) -> None:
        """Be ready for work. `report` and `hear` may be called from any thread.

        `hear` is told what a handler says, before its outcome is reported; a process that is killed may take the
        words of its last milliseconds with it.
        """

    @abstractmethod
    def submit(self, bundles: Sequence[Sequence[Claim]]) -> None:
        """Run these as soon as there is a place for each bundle, whose claims should take no longer than a moment."""

    @abstractmethod
    def interrupt(self, claims: Collection[Claim], why: type[Interrupted]) -> None:
        """Have these end: cancelled ones are told first, and stopped if they do not end by themselves."""

    @abstractmethod
    def close(self) -> None:
        """Stop whatever still runs, where that is possible, and report nothing more."""
