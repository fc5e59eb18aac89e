"""Gets real PostgreSQL, Redis and RabbitMQ for a test run, on any machine.

For each server on its own, the first that works of: the one the environment names; the one on the
standard port; a private one, started for the run and stopped with it, in a container, from
installed binaries, from Debian's packages or from wheels. Where nothing works the server is
missing, with the reason and the remedy, and it is for the caller to be loud about that.

Nothing is ever created, changed or wiped in a server that was found rather than started.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.servers import docker, found, probe, started
from tests.servers.kinds import Kind
from tests.servers.order import Missing, Obtained, Source, first_given

__all__ = ["Kind", "Missing", "Servers", "provide", "sources"]


@dataclass
class Servers:
    """What a run may use: URLs by environment variable, what is missing, and a line on each."""

    environment: dict[str, str] = field(default_factory=dict)
    missing: dict[Kind, Missing] = field(default_factory=dict)
    described: list[str] = field(default_factory=list)


@contextmanager
def provide(
    needed: Iterable[Kind],
    *,
    environ: Mapping[str, str] = os.environ,
    private: bool = False,
    absent: Iterable[Kind] = (),
) -> Iterator[Servers]:
    """Give the needed servers, and stop on leaving those that were started for it.

    `private` passes over servers that are there already; those in `absent` are not even looked for.
    """
    servers = Servers()
    needed, absent = set(needed), set(absent)
    with ExitStack() as leaving:
        for kind in Kind:
            if kind not in needed:
                continue
            if kind in absent:
                outcome: Obtained | Missing = Missing("it was declared absent", "do not declare it absent")
            else:
                outcome = first_given(kind, sources(environ, private=private))
            match outcome:
                case Obtained(url=url, how=how, release=release):
                    leaving.callback(release)
                    servers.environment[kind.variable] = url
                    servers.described.append(f"{kind.title}: {how} [{probe.version(kind, url)}]")
                case Missing(reason=reason):
                    servers.missing[kind] = outcome
                    servers.described.append(f"{kind.title}: missing ({reason})")
        yield servers


def sources(environ: Mapping[str, str], *, private: bool = False) -> list[Source]:
    """Return where a server may come from, the best first: what is there before what must be started."""
    there: list[Source] = [found.named_by(environ), found.on_the_standard_port]
    to_start: list[Source] = [
        docker.in_a_container,
        started.from_installed_binaries,
        started.from_debian_packages,
        started.from_wheels,
    ]
    return to_start if private else there + to_start
