"""Which server is used when several could be: the first source that gives one.

Pure: it knows neither processes nor sockets, only that a source either gives an `Obtained`
or raises `Unavailable`. That a source fails is no error, it is why there is a next one; but
every reason is kept, because a person who has no server at all needs to read all of them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tests.servers.kinds import Kind


class Unavailable(Exception):
    """A source cannot give this server here: the fact, and what would change it.

    `surprising` when a person would expect this source to work: then the fact is told even
    though a later source gives the server.
    """

    def __init__(self, reason: str, remedy: str = "", *, surprising: bool = False):
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.surprising = surprising


@dataclass(frozen=True)
class Obtained:
    """A server that answers, and where it came from (`how`, half a sentence for the screen)."""

    url: str
    how: str
    release: Callable[[], None] = lambda: None  # stops what was started; a found server is left alone


@dataclass(frozen=True)
class Missing:
    """No source gave the server: every reason, and every remedy."""

    reason: str
    remedy: str


Source = Callable[[Kind], Obtained]


def first_given(kind: Kind, sources: Iterable[Source]) -> Obtained | Missing:
    """Ask the sources one after the other, and the later ones only when the earlier have failed."""
    refusals = []
    for source in sources:
        try:
            obtained = source(kind)
        except Unavailable as refusal:
            refusals.append(refusal)
        else:
            surprises = [refusal.reason for refusal in refusals if refusal.surprising]
            return replace(obtained, how="; ".join([obtained.how, *surprises]))
    # The same remedy may come from two sources: a person needs it once.
    remedies = dict.fromkeys(refusal.remedy for refusal in refusals if refusal.remedy)
    return Missing(
        reason="; ".join(refusal.reason for refusal in refusals),
        remedy="; or ".join(remedies),
    )
