"""Opens the secrets of what is being run, for its handler, and takes them out of whatever that leads to.

Nothing here costs more than a look at the payload's text where there are no secrets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jobs.ledger import Claim
from jobs.redaction import SEALED_IN_JSON, Scrubber
from jobs.sealing import CannotOpen, get_seal
from scheduler_project.logs import hide_within


def opened_payload(claim: Claim) -> Any:
    """What the handler is given. Nobody else ever sees it. Raises CannotOpen."""
    payload = json.loads(claim.payload)
    return get_seal().opened(payload, claim.tenant_id) if SEALED_IN_JSON in claim.payload else payload


def scrubber_of(*claims: Claim) -> Scrubber | None:
    """What takes out the secrets of these, and of all that are being run together with them; None if there are none."""
    own = [secret for claim in claims if SEALED_IN_JSON in claim.payload for secret in _secrets(claim)]
    around = hide_within.get()
    if not own:
        return around
    return Scrubber(own) if around is None else Scrubber(own, besides=around)


@contextmanager
def hidden(*claims: Claim) -> Iterator[Scrubber | None]:
    """Take the secrets of these out of every line of the log that is written within."""
    scrubber = scrubber_of(*claims)
    before = hide_within.set(scrubber)
    try:
        yield scrubber
    finally:
        hide_within.reset(before)


def _secrets(claim: Claim) -> list[Any]:
    try:
        return get_seal().secrets_in(json.loads(claim.payload), claim.tenant_id)
    except CannotOpen:  # and its handler, which cannot be called, will not tell them either
        return []
