"""Where a request comes from, as far as that can be believed."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address

from django.conf import settings
from django.http import HttpRequest

NETWORK = 64  # bits of an IPv6 address that are one household's: whoever has it has all of it


def address_of(request: HttpRequest) -> str:
    """The address of whoever asks, or the network of it; empty where there is none.

    What proxies append to `X-Forwarded-For` is believed for as many of them as the settings say stand before us.
    Anything further left was written by the client itself.
    """
    address = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXIES:
        hops = [hop.strip() for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
        address = hops[-min(settings.TRUSTED_PROXIES, len(hops))] or address
    return _network(address)


def _network(text: str) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Network((int(address), NETWORK), strict=False))
    return str(address)
