"""Keeps secrets out of what people read: documents that have some, and texts that may repeat one. Pure.

In a stored document a sealed value is an object with one member, `$sealed`. Only handlers ever see what is in it (see
`jobs.sealing`); everybody else sees a mark in its place.
"""

from __future__ import annotations

import base64
import html
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

from jobs.secret_names import is_secret

SEALED = "$sealed"
SEALED_IN_JSON = f'"{SEALED}"'  # within a longer text it would be written with backslashes
MARK = "••••••"
SHORTEST_SCRUBBED = 4  # characters: to take out shorter ones would leave nothing to read, and give them away
PIECE = 24  # characters: a longer secret is looked for in pieces
FEW = 32  # pieces that are looked for one by one, which the interpreter does fast
# Of one payload: what can be looked for in each text that its execution leads to.
MAX_SECRET_CHARACTERS = 65_536
MAX_SECRET_WORDS = 1_000
TOO_MANY = f"{MARK} (hidden: too many secrets to redact)"


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
    """Takes secrets out of texts that others wrote, such as an error that repeats what it was given.

    Each secret is looked for in the spellings that programs give it, a long one in pieces. How long it takes depends on
    the text, and not on how many secrets there are: what an attempt has of them is bounded where it comes in, and for
    what is stored already there is a bound here, beyond which a text is hidden as a whole.
    """

    def __init__(self, *secrets: Iterable[Any], covers: Collection[Any] = (), besides: Scrubber | None = None) -> None:
        """Of each payload, its secrets. `covers` says whose they are; those of `besides` are taken out too."""
        self._pieces: set[str] = set(besides._pieces) if besides else set()
        self._too_many: bool = besides is not None and besides._too_many
        self.covers: frozenset[Any] = frozenset(covers) | (besides.covers if besides else frozenset())
        for of_one in secrets:
            words, too_many = _words(of_one)
            self._too_many |= too_many
            self._pieces.update(piece for word in words for text in _spellings(word) for piece in _pieces(text))
        lengths: dict[str, set[int]] = defaultdict(set)
        for piece in self._pieces:
            lengths[piece[:SHORTEST_SCRUBBED]].add(len(piece))
        # Of the pieces that begin alike, the longest first: a secret may contain another one.
        self._lengths = {head: sorted(those, reverse=True) for head, those in lengths.items()}

    def clean(self, text: str) -> str:
        if self._too_many:
            return TOO_MANY if text else text
        # Most texts have no secret in them, and most attempts have few: then this is all.
        if len(self._pieces) <= FEW and not any(piece in text for piece in self._pieces):
            return text
        cleaned: list[str] = []
        told = 0
        for start, end in _merged(self._found(text)):
            cleaned += (text[told:start], MARK)
            told = end
        return "".join((*cleaned, text[told:])) if cleaned else text

    def _found(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the longest piece begins and ends, at each place where one begins."""
        for start in range(len(text) - SHORTEST_SCRUBBED + 1):
            for length in self._lengths.get(text[start : start + SHORTEST_SCRUBBED], ()):
                if text[start : start + length] in self._pieces:
                    yield start, start + length
                    break

    def clean_document(self, document: Any) -> Any:
        """The document with every text and number in it cleaned, and the names of members too."""
        if isinstance(document, str):
            return self.clean(document)
        if isinstance(document, dict):
            return {self.clean(name): self.clean_document(member) for name, member in document.items()}
        if isinstance(document, (list, tuple)):
            return [self.clean_document(member) for member in document]
        if isinstance(document, (int, float)) and not isinstance(document, bool):
            text = str(document)
            return document if (cleaned := self.clean(text)) == text else cleaned
        return document


def cleaned_start(clean: Callable[[str], str], text: str, longest: int) -> str:
    """The beginning of a text without secrets, in a time that does not grow with what is cut off."""
    if len(text) <= longest:
        return clean(text)
    # What is cut in two at the end is not recognised, so it goes too.
    return f"{clean(text[:longest])[:-PIECE]}…"


def cleaned_end(clean: Callable[[str], str], text: str, longest: int) -> str:
    """The end of a text without secrets, likewise."""
    return clean(text) if len(text) <= longest else f"…{clean(text[-longest:])[PIECE:]}"


def fault_of_secrets(secrets: Iterable[Any]) -> str:
    """Why these cannot be the secrets of one payload; empty when they can."""
    _, too_many = _words(secrets)
    if not too_many:
        return ""
    return (
        f"has more than {MAX_SECRET_CHARACTERS:,} characters or {MAX_SECRET_WORDS:,} words of secrets. "
        "Send a reference to them instead."
    )


def _words(secrets: Iterable[Any]) -> tuple[set[str], bool]:
    """What is looked for, and whether it is more than can be."""
    words: set[str] = set()
    left = MAX_SECRET_CHARACTERS
    for secret in secrets:
        for leaf in _leaves(secret):
            left -= len(leaf)
            if left < 0 or len(words) > MAX_SECRET_WORDS:
                return set(), True
            words.add(leaf)
            # Of "Bearer …" what matters by itself, too.
            words.update(word for word in leaf.split() if len(word) >= 2 * SHORTEST_SCRUBBED)
    return (set(), True) if len(words) > MAX_SECRET_WORDS else (words, False)


def _leaves(secret: Any) -> Iterator[str]:
    """The texts and numbers in a secret."""
    if isinstance(secret, dict):
        for member in secret.values():
            yield from _leaves(member)
    elif isinstance(secret, list):
        for member in secret:
            yield from _leaves(member)
    elif isinstance(secret, str):
        yield secret
    elif isinstance(secret, (int, float)) and not isinstance(secret, bool):
        yield str(secret)


def _pieces(text: str) -> Iterator[str]:
    """Cut a secret into pieces that cover it; yield nothing for a secret that is too short."""
    if len(text) > PIECE:
        yield from (text[start : start + PIECE] for start in range(0, len(text) - PIECE, PIECE))
        yield text[-PIECE:]
    elif len(text) >= SHORTEST_SCRUBBED:
        yield text


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans in the order of their beginnings, joined where they touch."""
    open_at: int | None = None
    ends = 0
    for start, end in spans:
        if open_at is None or start > ends:
            if open_at is not None:
                yield open_at, ends
            open_at, ends = start, end
        elif end > ends:
            ends = end
    if open_at is not None:
        yield open_at, ends


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
    yield html.escape(text)
    yield base64.b64encode(whole).decode()
    for inner in _within_base64(whole):
        yield inner
        yield inner.replace("+", "-").replace("/", "_")
    yield repr(whole)[2:-1]


def _within_base64(whole: bytes) -> Iterator[str]:
    """What each base64 of a longer text has of this part of it, such as of `user:password`.

    Three bytes are four characters, so there are three. A character at an end may have bits of what is beside the part.
    """
    for before in range(3):
        text = base64.b64encode(bytes(before) + whole).decode()
        shared = (before + len(whole)) % 3  # bytes in the last four characters, if these are not full
        yield text[-(-before * 4 // 3) : len(text) - (4 - shared if shared else 0)]
