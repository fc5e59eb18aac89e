"""The demo's admin, whose password everybody knows: where that account may exist, and where it may sign in.

The password is worth something only to people who use this very machine. So the account is refused wherever others can
reach the server: at its creation, when a server is started, and at sign-in, which covers servers started in other ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from accounts.models import User

NAME = PASSWORD = "admin"
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")  # what proxies and tunnels add
CHANGE_IT = f"Change the password: python manage.py changepassword {NAME}"


def exposure() -> str:
    """Why the settings let others reach this server; empty where they do not."""
    return exposure_of(production=settings.PRODUCTION, hosts=settings.ALLOWED_HOSTS)


def exposure_of(*, production: bool, hosts: Sequence[str]) -> str:
    if production:
        return "PRODUCTION is set"
    outside = [host for host in hosts if not is_this_machine(host)]
    return f"ALLOWED_HOSTS has {outside[0]}" if outside else ""


def is_this_machine(host: str) -> bool:
    """Whether only this machine reaches `host`: a loopback address, or the name of one."""
    name = host.removeprefix("[").removesuffix("]").lower()
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def may_sign_in(username: str, password: str, *, asked_by: Mapping[str, Any]) -> bool:
    """Return False for the demo's well-known password, unless client and server are on the same machine.

    A proxy or tunnel on this machine forwards requests of others: then the peer is this machine, and the client is not.
    """
    known = User.normalize_username(username) == NAME and password == PASSWORD
    forwarded = any(header in asked_by for header in FORWARDED)
    return not known or (not exposure() and not forwarded and is_this_machine(asked_by.get("REMOTE_ADDR", "")))


def danger(host: str) -> str:
    """Why a server that listens on `host` must not be started, and what to do; empty where it may."""
    why = exposure() or ("" if is_this_machine(host) else f"it would listen on {host or 'all addresses'}")
    if not why or not exists():
        return ""
    return f"Not started: {why}, and the password of the demo admin is publicly known. {CHANGE_IT}"


def exists() -> bool:
    """Whether the demo's admin is there, and still has the password that everybody knows."""
    try:
        admin = User.objects.filter(username=NAME, is_active=True).first()
    except DatabaseError:  # away, or without tables yet: there is nothing to sign in with, and `may_sign_in` still asks
        return False
    return admin is not None and admin.check_password(PASSWORD)
