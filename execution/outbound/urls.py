"""Reads a URL strictly: what two readers could understand differently is refused. Pure.

A general parser is generous: it drops tabs, takes `\\` for `/`, finds a host behind an `@`, and leaves `0x7f.1` for the
resolver to make loopback of. Here one pattern says what a URL is, and a host is a plain name or a plain address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

LONGEST = 2000  # characters of a URL; more than many servers accept
PORTS = {"http": 80, "https": 443}

Address = IPv4Address | IPv6Address

_URL = re.compile(
    r"(?P<scheme>https?)://"
    r"(?P<host>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,254})"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[!-\[\]-~]*|\?[!-\[\]-~]*)?",  # what can be seen in ASCII, but for the backslash
    re.IGNORECASE | re.ASCII,
)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9].*", re.ASCII)  # as a last label: some resolvers take such a host for an address


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes."""

    scheme: str
    host: str  # in lower case, an IPv6 address without brackets
    port: int
    path: str  # with the query

    @property
    def address(self) -> Address | None:
        """The address that the URL spells, if it spells one instead of a name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None

    @property
    def authority(self) -> str:
        """As the Host header says it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"


def read_url(text: str) -> Target:
    """The target that the URL names, or a ValueError with what is wrong."""
    if len(text) > LONGEST:
        raise ValueError(f"is longer than {LONGEST:,} characters.")
    url, _, _ = text.partition("#")  # a fragment is never sent
    parts = _URL.fullmatch(url)
    if parts is None:
        raise ValueError(_why_none(url))
    scheme = parts["scheme"].lower()
    port = int(parts["port"]) if parts["port"] else PORTS[scheme]
    if not 0 < port < 65536:
        raise ValueError(f"has the port {port}. Ports go from 1 to 65535.")
    path = parts["path"] or "/"
    return Target(scheme, _host(parts["host"].lower()), port, path if path.startswith("/") else f"/{path}")


def _host(host: str) -> str:
    if host.startswith("["):
        try:
            return str(IPv6Address(host[1:-1]))
        except ValueError:
            raise ValueError(f"has the host {host}, which is no IPv6 address.") from None
    name = host.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(name))
        except ValueError:
            raise ValueError(f"has the host {host!r}. Write an address as four decimal numbers: 192.0.2.1.") from None
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"has the host {host!r}, which is no host name.")
    return name


def _why_none(url: str) -> str:
    if not re.match(r"https?://", url, re.IGNORECASE):
        return "must begin with https:// or http://."
    if not url.isascii():
        return "must be ASCII: write a host as xn--… and other characters as %XX."
    if "@" in re.split(r"[/?\\]", url.split("://", 1)[1])[0]:
        return "must not contain a user or password. Send an Authorization header."
    return "is no URL such as https://example.com/path?query. Write other characters than letters and digits as %XX."
