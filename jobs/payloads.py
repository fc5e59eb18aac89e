"""A payload's way in: small enough, as its task wants it, and with its secrets sealed.

Every way leads through here: creation, edits, replays, over the API and in the admin. What
cannot be stored at all was refused before, where it was read (see `jobs.documents`).
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from pydantic_core import to_json

from execution.registry import InvalidPayload, Task
from jobs.redaction import MARK, SEALED, is_hidden, is_sealed, replaced
from jobs.sealing import get_seal


def accepted(task: Task, payload: Any, *, tenant: UUID, stored: Any = None) -> Any:
    """The payload as it is to be stored, or InvalidPayload with every field that is wrong.

    Where it has the mark of a hidden secret, the one that `stored` has at that place is kept.
    """
    seal = get_seal()
    filled = seal.opened(_filled(payload, stored, task, ()), tenant) if stored else _filled(payload, None, task, ())
    task.read(filled)
    _check_size(filled)
    return seal.sealed(filled, tenant, task.secrets)


def has_marks(payload: Any, task: Task) -> bool:
    """Whether it stands for secrets that are stored elsewhere."""
    found = []

    def note(name: str, value: Any) -> Any:
        if value == MARK and is_hidden(name, value, task.secrets):
            found.append(name)
        return value

    replaced(payload, note)
    return bool(found)


def _filled(payload: Any, stored: Any, task: Task, path: tuple[str, ...]) -> Any:
    """The payload with what is stored, sealed as it is, in place of each mark."""
    if type(payload) is dict:
        if SEALED in payload:
            raise InvalidPayload({".".join((*path, SEALED)): "is a name of our own. Send the value itself."})
        members: Any = payload.items()
    elif type(payload) is list:
        members = enumerate(payload)
    else:
        return payload
    copy: Any = None
    for key, member in members:
        kind = type(member)
        if kind is dict or kind is list:
            new = _filled(member, _member(stored, key), task, (*path, str(key)))
        elif kind is str and member == MARK:
            new = _unmarked(key, _member(stored, key), task, path)
        else:
            continue
        if new is not member:
            if copy is None:
                copy = payload.copy()
            copy[key] = new
    return payload if copy is None else copy


def _unmarked(key: Any, stored: Any, task: Task, path: tuple[str, ...]) -> Any:
    """What a mark stands for. Under a name that says nothing of a secret it is a text like any other."""
    if is_sealed(stored):
        return stored
    if type(key) is not str or not is_hidden(key, MARK, task.secrets):
        return MARK
    if stored is None:
        told = "is the mark of a hidden value, and no value is stored here. Send the value itself."
        raise InvalidPayload({".".join((*path, key)): told})
    return stored


def _member(stored: Any, key: Any) -> Any:
    try:
        return stored[key]
    except (KeyError, IndexError, TypeError):
        return None


def _check_size(payload: Any) -> None:
    most, most_parts = settings.LARGEST_PAYLOAD, settings.MOST_PAYLOAD_PARTS
    size = len(to_json(payload))
    if size > most:
        raise InvalidPayload({"": f"is {size:,} bytes of JSON; {most:,} are allowed. Send a reference to it instead."})
    # So many parts take at least two characters each: those of the usual payload need not be counted.
    if size > 2 * most_parts and (parts := _parts(payload)) > most_parts:
        raise InvalidPayload({"": f"has {parts:,} keys and items; {most_parts:,} are allowed. Send them as one text."})


def _parts(document: Any) -> int:
    if isinstance(document, dict):
        return len(document) + sum(_parts(member) for member in document.values())
    if isinstance(document, list):
        return len(document) + sum(_parts(member) for member in document)
    return 0
