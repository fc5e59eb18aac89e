"""A payload's way in: small enough, as its task wants it, and with its secrets sealed.

Every way leads through here: creation, edits, replays, over the API and in the admin. What
cannot be stored at all was refused before, where it was read (see `jobs.documents`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from pydantic_core import to_json

from execution.registry import InvalidPayload, Task, registry
from jobs.documents import LONGEST_STEP
from jobs.redaction import MARK, SEALED, Scrubber, fault_of_secrets, is_hidden, is_sealed, replaced
from jobs.sealing import get_seal
from jobs.secret_names import is_secret

Path = tuple[str | int, ...]


class Stored(NamedTuple):
    """What marks in a new payload stand for: the payload as it is stored, and the task that it is stored for."""

    task: str
    payload: Any


def usable_task(name: str, tenant: UUID) -> Task:
    """The task of this name, for a job of this tenant. Raises UnknownTask, and MailRefused for what sends mail."""
    task = registry.get(name)
    if task.check_tenant is not None:
        task.check_tenant(tenant)
    return task


def accepted(task: Task, payload: Any, *, tenant: UUID, stored: Stored | None = None) -> Any:
    """The payload as it is to be stored, or InvalidPayload with every field that is wrong.

    A mark of a hidden secret keeps the secret that `stored` has at that place, as long as the secret goes to the same
    place as before: otherwise a user who may edit a job could have its secrets sent to an address of theirs.
    """
    seal = get_seal()
    kept: list[Path] = []
    filled = _filled(payload, stored.payload if stored else None, task, (), kept)
    if kept and stored:
        _check_binding(kept, payload, stored, task)
        filled = seal.opened(filled, tenant)
    _check_size(filled)  # first: a task may look at each part, and note a fault of each
    try:
        task.read(filled)
    except InvalidPayload as error:
        if not kept:
            raise
        # A task may quote what it refuses, and the writer of the payload may not know what a mark stands for.
        scrubber = Scrubber(_at(filled, path) for path in kept)
        raise InvalidPayload({field: scrubber.clean(told) for field, told in error.errors.items()}) from None
    sealed = seal.sealed(filled, tenant, task.secrets)
    if sealed is not filled and (fault := fault_of_secrets(seal.secrets_in(sealed, tenant))):
        raise InvalidPayload({"": fault})
    return sealed


def has_marks(payload: Any, task: Task) -> bool:
    """Whether it stands for secrets that are stored elsewhere."""
    found = []

    def note(name: str, value: Any) -> Any:
        if value == MARK and is_hidden(name, value, task.secrets):
            found.append(name)
        return value

    replaced(payload, note)
    return bool(found)


def _filled(payload: Any, stored: Any, task: Task, path: Path, kept: list[Path]) -> Any:
    """The payload with what is stored, sealed as it is, in place of each mark. Appends the paths of these to `kept`."""
    if type(payload) is dict:
        if SEALED in payload:
            raise InvalidPayload({_spelled((*path, SEALED)): "is a reserved name. Send the value itself."})
        members: Any = payload.items()
    elif type(payload) is list:
        members = enumerate(payload)
    else:
        return payload
    copy: Any = None
    for key, member in members:
        kind = type(member)
        if kind is dict or kind is list:
            new = _filled(member, _member(stored, key), task, (*path, key), kept)
        elif kind is str and member == MARK:
            new = _unmarked(key, _member(stored, key), task, path)
            if new is not MARK:
                kept.append((*path, key))
        else:
            continue
        if new is not member:
            if copy is None:
                copy = payload.copy()
            copy[key] = new
    return payload if copy is None else copy


def _unmarked(key: Any, stored: Any, task: Task, path: Path) -> Any:
    """What a mark stands for. Under a name that says nothing of a secret it is a text like any other."""
    if is_sealed(stored):
        return stored
    if type(key) is not str or not is_hidden(key, MARK, task.secrets):
        return MARK
    if stored is None:
        told = "is the mark of a hidden value, and no value is stored here. Send the value itself."
        raise InvalidPayload({_spelled((*path, key)): told})
    return stored


def _check_binding(kept: Sequence[Path], payload: Any, stored: Stored, task: Task) -> None:
    """Raise InvalidPayload for each secret that is kept although it would go somewhere else than before.

    Whatever stands beside a secret in the same top-level member counts too: a header may name another receiver.
    """
    if stored.task != task.name:
        told = f"was stored for the task {stored.task}, and cannot be kept for {task.name}. Enter the secret again."
        raise InvalidPayload({_spelled(path): told for path in kept})
    bound = payload.keys() | stored.payload.keys() if task.secrets_bound_to is None else task.secrets_bound_to
    changed = {
        name: _first_change(_member(payload, name), _member(stored.payload, name), (name,), task)
        for name in {*bound, *(path[0] for path in kept)}
    }
    faults = {}
    for path in kept:
        if places := sorted(_spelled(place) for name in {*bound, path[0]} if (place := changed[name])):
            faults[_spelled(path)] = f"was stored for another value of {places[0]}. Enter the secret again."
    if faults:
        raise InvalidPayload(faults)


def _first_change(new: Any, old: Any, path: Path, task: Task) -> Path | None:
    """Where a payload with marks first differs from the stored one; None if it does not.

    A secret whose name says so may be replaced by another one, but not by something with members, which may say more
    than a secret. Other secrets, which only the task calls so, may be places themselves, such as a URL with a password.
    """
    key = path[-1]
    if is_sealed(old) or (type(key) is str and is_hidden(key, old, task.secrets)):
        if new == MARK:
            return None
        return None if new and type(new) in (str, int, float) and _is_no_place(key, path, task) else path
    if type(new) is dict and type(old) is dict:
        keys: Iterable[Any] = sorted(new.keys() | old.keys())
    elif type(new) is list and type(old) is list and len(new) == len(old):
        keys = range(len(new))
    else:
        return None if type(new) is type(old) and new == old else path
    return next(
        (at for one in keys if (at := _first_change(_member(new, one), _member(old, one), (*path, one), task))), None
    )


def _is_no_place(key: Any, path: Path, task: Task) -> bool:
    """Whether a secret at this path does not decide where other secrets go."""
    bound = len(path) == 1 and task.secrets_bound_to is not None and key in task.secrets_bound_to
    return not bound and type(key) is str and is_secret(key)


def _at(document: Any, path: Path) -> Any:
    for step in path:
        document = document[step]
    return document


def _spelled(path: Path) -> str:
    return ".".join(str(step)[:LONGEST_STEP] for step in path)


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
