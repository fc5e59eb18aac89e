"""Servers that are there already: named by the environment, or answering on the standard port.

What is found belongs to someone else. It is asked whether it answers and then used by the
tests, which keep to databases and prefixes of their own; it is never started, stopped or emptied.
"""

import getpass
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import quote, urlsplit

from tests.servers import probe
from tests.servers.kinds import Kind
from tests.servers.order import Obtained, Source, Unavailable

POSTGRES_SCHEMES = {
    "postgres",
    "postgresql",
    "psql",
    "pgsql",
}  # all of them mean PostgreSQL to django-environ


def named_by(environ: Mapping[str, str]) -> Source:
    """Return the source that gives the server which `environ` names, if that one answers."""

    def source(kind: Kind) -> Obtained:
        url = environ.get(kind.variable, "")
        if not url:
            raise Unavailable(f"{kind.variable} is not set", f"set {kind.variable} to one that runs")
        if kind is Kind.POSTGRESQL and urlsplit(url).scheme not in POSTGRES_SCHEMES:
            raise Unavailable(f"{kind.variable} names no PostgreSQL", f"set {kind.variable} to one that runs")
        try:
            probe.answers(kind, url)
        except Unavailable as refusal:
            raise Unavailable(
                f"{kind.variable} is set, but {refusal.reason}",
                refusal.remedy or f"start the server that {kind.variable} names",
                surprising=True,
            ) from refusal
        return Obtained(url, f"named by {kind.variable}, answering on {probe.address(url)}")

    return source


def on_the_standard_port(kind: Kind) -> Obtained:
    """Give the server on the loopback's standard port, with the credentials of a fresh installation."""
    refusals = []
    for url in standard_urls(kind):
        try:
            probe.answers(kind, url)
        except Unavailable as refusal:
            refusals.append(refusal)
        else:
            return Obtained(url, f"answering on {probe.address(url)}")
    # One port, several credentials: the first refusal says what stands in the way.
    raise refusals[0]


def standard_urls(kind: Kind) -> list[str]:
    """Return where a fresh installation listens, the likeliest credentials first."""
    if kind is Kind.REDIS:
        return ["redis://127.0.0.1:6379/0"]
    if kind is Kind.RABBITMQ:
        return ["amqp://guest:guest@127.0.0.1:5672/%2F"]
    users = ["postgres", "postgres:postgres"]
    with suppress(KeyError, OSError):  # in a container the user may have a number and no name
        users.append(quote(getpass.getuser(), safe=""))
    return [f"postgres://{user}@127.0.0.1:5432/postgres" for user in dict.fromkeys(users)]
