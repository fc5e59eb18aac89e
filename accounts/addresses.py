"""Where a request comes from, as far as that can be believed."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest

NETWORK = 56  # bits of an IPv6 address that are one customer's: providers give a household 256 networks of 64 bits


def address_of(request: HttpRequest) -> str:
    """The client's address, or the network of it; empty where there is none."""
    return address_in(request.META)


def address_in(environ: Mapping[str, Any]) -> str:
    """The same, of a WSGI environ.

    What proxies append to `X-Forwarded-For` is believed for as many of them as `TRUSTED_PROXIES` says stand before us.
    Anything further left was written by the client itself. Where the trusted entry is not an address, the peer's is
    used: a client must not escape limits by an address that cannot be read.
    """
    peer = environ.get("REMOTE_ADDR", "")
    forwarded = ""
    if settings.TRUSTED_PROXIES:
        hops = environ.get("HTTP_X_FORWARDED_FOR", "").split(",")
        forwarded = hops[-min(settings.TRUSTED_PROXIES, len(hops))]
    return _network(forwarded) or _network(peer)


def _network(text: str) -> str:
    try:
        address = ip_address(text.strip())
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Network((int(address), NETWORK), strict=False))
    return str(address)
