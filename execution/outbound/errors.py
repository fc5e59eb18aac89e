"""Why there is no answer."""

from __future__ import annotations


class Refused(Exception):
    """We do not talk to that address. Asking again changes nothing."""


class NoAnswer(ConnectionError):
    """No whole answer came: the network, a time limit, or a peer that does not speak HTTP. It may be better later."""
