"""From a name to addresses, each of them checked.

A name may lead to the open now and to loopback a moment later. So it is asked for once, every address of the answer is
checked, and whoever connects uses these addresses and not the name.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from threading import Event, Thread

import structlog

from execution.outbound.deadline import GLANCE, Deadline
from execution.outbound.errors import NoAnswer, Refused
from execution.outbound.guard import Guard
from execution.outbound.urls import Address, Target

NO_USABLE_ADDRESS = (
    "does not resolve to an allowed address. Check the name. Internal hosts must be in HTTP_ALLOWED_HOSTS."
)

logger = structlog.get_logger(__name__)

Resolve = Callable[[str, int], Sequence[str]]


def ask_system(host: str, port: int) -> list[str]:
    """The addresses that this machine's resolver knows of."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


class Unresolved(Exception):
    """A name has no address, as far as the resolver knows."""


def checked_addresses(target: Target, guard: Guard, deadline: Deadline, resolve: Resolve) -> list[Address]:
    """Where to connect to. Refused for an address that the URL spells and that is inside; NoAnswer for a name.

    A name that leads inside and a name that does not exist get the same error, and so the same retries: a difference
    would reveal which names an internal network has. The log records the difference.
    """
    if target.address:
        guard.check_address(target, target.address)
        return [target.address]
    try:
        addresses = _resolved(target, deadline, resolve)
        for address in addresses:
            guard.check_address(target, address)
    except (Refused, Unresolved) as error:
        logger.info("outbound.no_usable_address", host=target.host, reason=str(error))
        raise NoAnswer(f"{target.host} {NO_USABLE_ADDRESS}") from None
    return addresses


def _resolved(target: Target, deadline: Deadline, resolve: Resolve) -> list[Address]:
    answer: list[Sequence[str] | OSError] = []
    done = Event()

    def ask() -> None:
        try:
            answer.append(resolve(target.host, target.port))
        except (OSError, UnicodeError) as error:
            answer.append(OSError(str(error)))
        finally:
            done.set()

    # In a thread of its own: the system's resolver knows no time limit, and nothing can interrupt it.
    Thread(target=ask, name="resolver", daemon=True).start()
    while not done.wait(deadline.left(f"looking up {target.host}", most=GLANCE)):
        pass
    match answer:
        case [OSError() as error]:
            raise Unresolved(f"The name {target.host} could not be looked up: {error}.")
        case [found] if found:
            return [_read(target, text) for text in found]
    raise Unresolved(f"The name {target.host} has no address.")


def _read(target: Target, text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError:
        raise Refused(f"{target.host} leads to {text!r}, which is no address.") from None
