"""Tells a setting whose name is misspelt from the many variables of an environment that are somebody else's.

A variable is taken for ours if its name is nearly that of a setting, or begins with words that only ours begin with.
Words that others use too (DATABASE_, REDIS_, S3_, SECRETS_, LOG_, WEB_ …) prove nothing: REDIS_PASSWORD is somebody's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

OURS = (
    "BOOKKEEPING_",
    "CANARY_",
    "CATCH_UP_",
    "COURIER_",
    "DESTINATION_",
    "DUE_INDEX_",
    "HISTORY_",
    "HSTS_",
    "HTTP_ALLOWED_",
    "IDEMPOTENCY_",
    "JWT_SIGNING_",
    "MISFIRE_",
    "POLL_",
    "PRUNE_",
    "RECOVER_",
    "WATCHER_",
)
PREFIX = "PUNCTUAL_"  # which no setting but PUNCTUAL_VAR has
SUFFIXES = ("_SECONDS", "_MINUTES", "_HOURS", "_DAYS", "_MS", "_BYTES", "_FILE")  # that people add, and we do not
OF_OTHERS = {"HTTP_PORT", "HTTPS_PORT"}  # what many programs call the port they listen on; ours is HTTP_PORTS
SERVICE_HOST = "_SERVICE_HOST"  # a variable that Kubernetes adds for each Service of a namespace, with others
LONG = 9  # characters, from which on two mistakes are one name
SHORT = 6  # … and below which one mistake is another


def misspelt(names: Iterable[str], known: set[str]) -> dict[str, str]:
    """Each name that was probably meant for us and that nothing reads, with the setting it is nearest to."""
    names = set(names)
    others = known | OF_OTHERS | _of_kubernetes(names)
    found = {name: _meant(name, known) for name in sorted(names - others)}
    return {name: meant for name, meant in found.items() if meant}


def _of_kubernetes(names: Collection[str]) -> set[str]:
    services = {name.removesuffix(SERVICE_HOST) for name in names if name.endswith(SERVICE_HOST)}
    return {name for one in services for name in names if name.startswith((f"{one}_SERVICE_", f"{one}_PORT"))}


def _meant(name: str, known: set[str]) -> str:
    plain = name.upper().replace("-", "_")
    for written in dict.fromkeys((plain, plain.removeprefix(PREFIX), *map(plain.removesuffix, SUFFIXES))):
        if meant := _nearest(written, known):
            return meant
    if plain.startswith(OURS):
        return get_close_matches(plain, sorted(known), n=1, cutoff=0)[0]
    return ""


def _nearest(name: str, known: set[str]) -> str:
    if name in known:
        return name
    allowed = 0 if len(name) < SHORT else 1 if len(name) < LONG else 2
    near = [(count, other) for other in known if (count := mistakes(name, other, allowed)) <= allowed]
    return min(near)[1] if near else ""


def mistakes(one: str, other: str, enough: int) -> int:
    """Characters that are missing, too many, wrong or swapped; more than `enough` are not counted."""
    if abs(len(one) - len(other)) > enough or not enough:
        return enough + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, here in enumerate(one, 1):
        before, last = row, before
        row = [i]
        for j, there in enumerate(other, 1):
            count = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (here != there))
            if i > 1 and j > 1 and here == other[j - 2] and one[i - 2] == there:
                count = min(count, last[j - 2] + 1)
            row.append(count)
    return row[-1]
