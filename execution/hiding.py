"""Opens the secrets of what is being run, for its handler, and takes them out of whatever that leads to.

Nothing here costs more than a look at the payload's text where there are no secrets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from jobs.ledger import Claim
from jobs.redaction import SEALED_IN_JSON, Scrubber
from jobs.sealing import CannotOpen, get_seal
from scheduler_project.logs import hide_within

# What the database wrote is a document and nothing else; `loads` would look for more around it, at twice the cost.
_decode = json.JSONDecoder().raw_decode


def opened_payload(claim: Claim) -> Any:
    """What the handler is given. Nobody else ever sees it. Raises CannotOpen."""
    payload, _ = _decode(claim.payload)
    return get_seal().opened(payload, claim.tenant_id) if SEALED_IN_JSON in claim.payload else payload


def scrubber_of(claim: Claim) -> Scrubber | None:
    """What takes out its secrets, and those of all that are being run together with it; None if there are none."""
    around = hide_within.get()
    if SEALED_IN_JSON not in claim.payload or (around is not None and claim.key in around.covers):
        return around
    return Scrubber(_secrets(claim), covers=[claim.key], besides=around)


@contextmanager
def hidden(claims: Iterable[Claim]) -> Iterator[None]:
    """Take the secrets of all of these out of whatever is told within, by any of them."""
    secret = [claim for claim in claims if SEALED_IN_JSON in claim.payload]
    covers = [claim.key for claim in secret]
    before = hide_within.set(Scrubber(*map(_secrets, secret), covers=covers) if secret else None)
    try:
        yield
    finally:
        hide_within.reset(before)


def _secrets(claim: Claim) -> list[Any]:
    try:
        return get_seal().secrets_in(json.loads(claim.payload), claim.tenant_id)
    except CannotOpen:  # and its handler, which cannot be called, will not tell them either
        return []
