"""Keeps secrets out of what people read: documents that have some, and texts that may repeat one. Pure.

In a stored document a sealed value is an object with one member, `$sealed`. Only handlers ever see what is in it (see
`jobs.sealing`); everybody else sees a mark in its place.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

from jobs.secret_names import is_secret

SEALED = "$sealed"
SEALED_IN_JSON = f'"{SEALED}"'  # within a longer text it would be written with backslashes
MARK = "••••••"
SHORTEST_SCRUBBED = 4  # characters: to take out shorter ones would leave nothing to read, and give them away


def is_sealed(value: Any) -> bool:
    return type(value) is dict and len(value) == 1 and SEALED in value


def is_hidden(name: str, value: Any, also: Collection[str] = ()) -> bool:
    """Whether a member of a document is a secret. What is empty, true or false tells nothing."""
    return bool(value) and value is not True and is_secret(name, also)


def redacted(document: Any) -> Any:
    """The document as it may be shown: secrets by their name, and whatever is sealed, are a mark.

    It is the same object where there is nothing to hide.
    """
    if not may_hide(document):
        return document
    return replaced(document, lambda name, value: MARK if is_sealed(value) or is_hidden(name, value) else value)


def may_hide(document: Any, also: Collection[str] = ()) -> bool:
    """Whether there may be a secret in the document. Most have none, and are then spared everything else."""
    if type(document) is dict:
        for name, member in document.items():
            kind = type(member)
            if is_secret(name, also) or name == SEALED:
                return True
            if (kind is dict or kind is list) and may_hide(member, also):
                return True
    elif type(document) is list:
        for member in document:
            kind = type(member)
            if (kind is dict or kind is list) and may_hide(member, also):
                return True
    return False


def replaced(document: Any, change: Callable[[str, Any], Any]) -> Any:
    """The document with each member of an object as `change` would have it; what it leaves alone is looked into.

    What stays as it was is not copied.
    """
    if type(document) is dict:
        members: Iterable[tuple[Any, Any]] = document.items()
    elif type(document) is list:
        members = enumerate(document)
    else:
        return document
    copy: Any = None
    for key, member in members:
        new = change(key, member) if type(key) is str else member
        if new is member and (type(member) is dict or type(member) is list):
            new = replaced(member, change)
        if new is not member:
            if copy is None:
                copy = document.copy()
            copy[key] = new
    return document if copy is None else copy


class Scrubber:
    """Takes secrets out of texts that others wrote, such as an error that repeats what it was given."""

    def __init__(self, secrets: Iterable[Any], *, besides: Scrubber | None = None) -> None:
        """`besides` is one whose secrets are taken out too."""
        spelled = {text for secret in secrets for leaf in _leaves(secret) for text in _spellings(leaf)}
        long_enough = {one for one in spelled if len(one) >= SHORTEST_SCRUBBED}
        # The longest first: a secret may contain another one.
        self._spellings: list[str] = sorted(
            long_enough.union(besides._spellings if besides else ()), key=len, reverse=True
        )

    def clean(self, text: str) -> str:
        for spelling in self._spellings:
            text = text.replace(spelling, MARK)
        return text

    def clean_document(self, document: Any) -> Any:
        """The document with every text in it cleaned, and the names of members too."""
        if isinstance(document, str):
            return self.clean(document)
        if isinstance(document, dict):
            return {self.clean(name): self.clean_document(member) for name, member in document.items()}
        if isinstance(document, (list, tuple)):
            return [self.clean_document(member) for member in document]
        return document


def _leaves(secret: Any) -> Iterator[str]:
    """The texts and numbers in a secret; of "Bearer …" what matters by itself, too."""
    if isinstance(secret, dict):
        for member in secret.values():
            yield from _leaves(member)
    elif isinstance(secret, list):
        for member in secret:
            yield from _leaves(member)
    elif isinstance(secret, str):
        yield secret
        yield from (word for word in secret.split() if len(word) >= 2 * SHORTEST_SCRUBBED)
    elif isinstance(secret, (int, float)) and not isinstance(secret, bool):
        yield str(secret)


def _spellings(text: str) -> Iterator[str]:
    """The ways in which programs repeat a text."""
    yield text
    yield repr(text)[1:-1]
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    whole = text.encode(errors="surrogatepass")
    yield quote(whole, safe="")
    yield quote(whole)
    yield quote_plus(whole)
    yield base64.b64encode(whole).decode()
    yield repr(whole)[2:-1]
