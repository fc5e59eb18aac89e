"""Whether the keys that everything is signed and sealed with are long enough, and each is another."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from django.core.exceptions import ImproperlyConfigured

MIN_BYTES = 32  # as long as the hash that signs: of a shorter key it is the key that is guessed
MAKE_ONE = "python -c 'import secrets; print(secrets.token_urlsafe(64))'"


def short_keys(keys: Mapping[str, str]) -> list[str]:
    return [
        f"{name} has {len(key.encode())} bytes; a key needs at least {MIN_BYTES}, or it can be guessed. "
        f"Set {name} to the output of: {MAKE_ONE}"
        for name, key in keys.items()
        if len(key.encode()) < MIN_BYTES
    ]


def shared_keys(keys: Mapping[str, str]) -> list[str]:
    # The second of the two is replaced, so SECRETS_KEY comes first: the others seal nothing that is kept.
    return [
        f"{other} and {name} are the same, so one leak discloses both. "
        f"Set {other} to a key of its own, the output of: {MAKE_ONE}"
        for (name, key), (other, same) in combinations(keys.items(), 2)
        if key == same
    ]


def refuse_weak(keys: Mapping[str, str]) -> None:
    """Raise at the first of these faults, before anything is signed."""
    for fault in [*short_keys(keys), *shared_keys(keys)]:
        raise ImproperlyConfigured(fault)
