"""JSON that every database we run on can keep, and give back unchanged. Pure.

Python's parser lets through what `jsonb` refuses (NUL, half a surrogate pair, infinities) and what
breaks others later (numbers beyond 64 bits, very deep nesting).
"""

from __future__ import annotations

import math
from typing import Any

MAX_DEPTH = 32  # deeper is a mistake or an attack; parsers and databases differ in where they break
LARGEST_INTEGER = 2**63 - 1
LONGEST_STEP = 100  # characters of a key that are repeated in an error

Place = tuple[Any, str | int]  # where a part is: the place of what contains it, and its key or number there


class UnstorableDocument(ValueError):
    """Some part of the document cannot be stored. `path` says which, such as `payload.to.0`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


def check_document(document: Any) -> None:
    """Raise UnstorableDocument for the first part that cannot be stored."""
    # A stack of our own: the document may be deeper than Python's. Places are linked, not
    # spelled out: long keys above many members would otherwise cost their product.
    parts: list[tuple[Place | None, Any, int]] = [(None, document, 1)]
    while parts:
        place, value, depth = parts.pop()
        if depth > MAX_DEPTH:
            raise UnstorableDocument(
                _spell(_outermost(place)), f"JSON nested deeper than {MAX_DEPTH} levels. Flatten it."
            )
        if isinstance(value, dict):
            for key, member in value.items():
                reason = _fault_of_key(key)
                if reason:
                    raise UnstorableDocument(_spell(place), reason)
                # Most members are plain text. To see that here takes a third of the time of a round for each.
                if depth == MAX_DEPTH or not _is_plain(member):
                    parts.append(((place, key), member, depth + 1))
        elif isinstance(value, (list, tuple)):
            parts.extend(((place, number), member, depth + 1) for number, member in enumerate(value))
        elif reason := _fault(value):
            raise UnstorableDocument(_spell(place), reason)


def _is_plain(value: Any) -> bool:
    return type(value) is str and value.isascii() and "\x00" not in value


def _fault_of_key(key: Any) -> str:
    if _is_plain(key):
        return ""
    return _fault(key) if isinstance(key, str) else f"the key {key!r} is no text. JSON keys are."


def _fault(value: Any) -> str:
    """Why a single value cannot be stored; empty when it can."""
    match value:
        case str() if "\x00" in value:
            return "text with the character \\u0000, which PostgreSQL cannot store. Remove it."
        case str():
            return "" if _is_whole(value) else "text with half a surrogate pair. Send whole characters."
        case bool() | None:
            return ""
        case int():
            return "a whole number beyond 64 bits. Send it as text." if abs(value) > LARGEST_INTEGER else ""
        case float():
            return "" if math.isfinite(value) else f"{value} is no JSON number. Send null or text."
        case _:
            return f"a {type(value).__name__} is not JSON."


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _outermost(place: Place | None) -> Place | None:
    """The first step of the way to a place: the whole of it would be as long as it is deep."""
    while place is not None and place[0] is not None:
        place = place[0]
    return place


def _spell(place: Place | None) -> str:
    steps: list[str] = []
    while place is not None:
        place, step = place
        steps.append(str(step)[:LONGEST_STEP])
    return ".".join(reversed(steps))


def storable_text(text: str) -> str:
    """The text with what cannot be stored replaced: for messages we did not write, such as a handler's errors."""
    return text.replace("\x00", "\\x00").encode(errors="backslashreplace").decode()
