"""Which addresses are out in the open, and which are somebody's inside. Pure.

A list of our own: `ipaddress.is_global` says yes to `64:ff9b::a9fe:a9fe`, `2002:a9fe:a9fe::` and `192.0.0.192`, each of
which leads to a cloud's metadata. IPv6 is closed but for what is assigned to the open, and an IPv4 address inside an
IPv6 one is judged by itself.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from execution.outbound.urls import Address

CLOSED_4 = {
    IPv4Network(network): kind
    for network, kind in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a provider's customers"),
        ("127.0.0.0/8", "loopback"),
        # Public by their numbers, but clouds answer at them from the inside: wire servers, name servers, metadata.
        ("161.26.0.0/16", "a cloud's own service"),  # IBM Cloud
        ("166.8.0.0/14", "a cloud's own service"),  # IBM Cloud
        ("168.63.129.16/32", "a cloud's own service"),  # Azure's wire server
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "for documentation"),
        ("192.31.196.0/24", "reserved for AS112"),
        ("192.52.193.0/24", "reserved for AMT"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved for AS112"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
}
OPEN_6 = IPv6Network("2000::/3")
CLOSED_6 = {
    IPv6Network(network): kind
    for network, kind in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::/96", "an IPv4 address in disguise"),
        ("64:ff9b:1::/48", "a translator of somebody's own"),
        ("100::/64", "discarded"),
        ("2001::/32", "a Teredo tunnel"),
        ("2001::/23", "reserved for protocols"),
        ("2001:db8::/32", "for documentation"),
        ("2002::/16", "a 6to4 tunnel"),
        ("2620:4f:8000::/48", "reserved for AS112"),
        ("3fff::/20", "for documentation"),
        ("5f00::/16", "for segment routing"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
    )
}
MAPPED = IPv6Network("::ffff:0:0/96")
TRANSLATED = IPv6Network("64:ff9b::/96")  # what a network without IPv4 makes of every IPv4 address
ISATAP = (0x00005EFE, 0x02005EFE)  # the third word of such an address; the fourth is an IPv4 address


def embedded(address: Address) -> IPv4Address | None:
    """The IPv4 address that packets to this one end up at, if they do."""
    if isinstance(address, IPv4Address):
        return None
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if address in MAPPED or address in TRANSLATED or int(address) >> 32 & 0xFFFFFFFF in ISATAP:
        return low
    return None


def closed_kind(address: Address) -> str | None:
    """What kind of inside the address belongs to; None when it is out in the open."""
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in CLOSED_4.items() if address in network), None)
    inner = embedded(address)
    if inner is not None and (kind := closed_kind(inner)):
        return kind
    if address in MAPPED or address in TRANSLATED:
        return None
    for network, kind in CLOSED_6.items():
        if address in network:
            return kind
    return None if address in OPEN_6 else "not assigned"


def plain(address: IPv6Address | IPv4Address) -> Address:
    """The same without the disguise in which an IPv4 address is mapped."""
    return getattr(address, "ipv4_mapped", None) or address
