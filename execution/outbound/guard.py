"""Whom we may talk to: everybody in the open, and of the inside only what the settings name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network

from execution.outbound.errors import Refused
from execution.outbound.ranges import closed_kind, embedded, plain
from execution.outbound.urls import Address, Target

REMEDY = "If it is meant to be reached, whoever runs Punctual adds it to HTTP_ALLOWED_HOSTS."
INSIDE_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa", "onion")  # last labels of names inside

_ENTRY = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<host>[a-z0-9*._-]+))(?::(?P<port>[0-9]{1,5}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Exemption:
    """One entry of the allow-list: a name or a network, on one port or on any."""

    name: str | None
    network: IPv4Network | IPv6Network | None
    port: int | None

    def covers_name(self, host: str, port: int) -> bool:
        if self.name is None or self.port not in (None, port):
            return False
        return host.endswith(self.name[1:]) if self.name.startswith("*.") else host == self.name

    def covers_address(self, address: Address, port: int) -> bool:
        if self.network is None or self.port not in (None, port):
            return False
        return address.version == self.network.version and address in self.network


@dataclass(frozen=True, slots=True)
class Guard:
    exemptions: tuple[Exemption, ...]
    ports: tuple[range, ...]

    def check(self, target: Target) -> None:
        """Refuse what can be known to be inside by its spelling alone. A name's addresses are checked when it runs."""
        if target.address is not None:
            self.check_address(target, target.address)
            return
        if self._exempt_by_name(target):
            return
        if target.host.split(".")[-1] in INSIDE_NAMES or target.host.endswith(".home.arpa"):
            raise Refused(f"{target.host} is a name of somebody's inside. {REMEDY}")
        self._check_port(target)

    def check_address(self, target: Target, address: Address) -> None:
        """Refuse an address that the target's name stands for, if it is inside and not exempt."""
        if self._exempt_by_name(target):
            return
        address = plain(address)
        inner = embedded(address)
        if any(
            one.covers_address(address, target.port) or (inner and one.covers_address(inner, target.port))
            for one in self.exemptions
        ):
            return
        if kind := closed_kind(address):
            # What a name inside stands for is not told: whoever asks may be mapping a network.
            who = str(address) if target.address else f"{target.host} leads to an address that"
            raise Refused(f"{who} is {kind}. {REMEDY}")
        self._check_port(target)

    def _exempt_by_name(self, target: Target) -> bool:
        return any(one.covers_name(target.host, target.port) for one in self.exemptions)

    def _check_port(self, target: Target) -> None:
        if not any(target.port in ports for ports in self.ports):
            raise Refused(f"Port {target.port} is none that HTTP_PORTS allows. Use 80, 443 or another of them.")


@lru_cache(maxsize=8)
def guard_of(allowed: tuple[str, ...], ports: tuple[str, ...]) -> Guard:
    """The guard that the settings describe; ValueError for an entry that cannot be read."""
    return Guard(tuple(_exemptions(allowed)), tuple(_ports(ports)))


def _exemptions(entries: Iterable[str]) -> Iterable[Exemption]:
    for entry in entries:
        text = entry.strip().lower()
        if "/" in text:
            yield Exemption(None, _network(text, entry), None)
            continue
        parts = _ENTRY.fullmatch(text)
        if parts is None:
            raise ValueError(f"{entry!r} is no host, host:port or network such as 10.1.0.0/16.")
        port = int(parts["port"]) if parts["port"] else None
        host = parts["v6"] or parts["host"].removesuffix(".")
        if parts["v6"] or re.fullmatch(r"[0-9.]+", host):
            yield Exemption(None, _network(host, entry), port)
        else:
            yield Exemption(host, None, port)


def _network(text: str, entry: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError(f"{entry!r} is no network: {error}.") from None


def _ports(entries: Iterable[str]) -> Iterable[range]:
    for entry in entries:
        first, _, last = entry.strip().partition("-")
        try:
            yield range(int(first), int(last or first) + 1)
        except ValueError:
            raise ValueError(f"{entry!r} is no port, nor ports such as 8000-8999.") from None
