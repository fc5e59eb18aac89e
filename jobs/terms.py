"""What a job can be found by: its tags, and the words of its name. Pure.

Both are kept as *terms*, one row each, so that one index serves them and the poller, which writes to a job whenever it
is due, never touches it. A tag begins with a `#`, which no word does. Words are found by their beginning, never by
what is in their middle: that is what an index can answer in any database.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

MOST_TAGS = 20  # of a job
LONGEST_TAG = 50  # characters
LONGEST_WRITTEN = 4 * LONGEST_TAG  # characters of a tag as it is sent: compatible forms are shorter than that
LONGEST_READ = 1_000  # characters of a text that words are looked for in: far more than a name has
LONGEST_TERM = 60  # characters of a word that count: longer ones are told apart by nobody
MOST_WORDS = 12  # of a name that it is found by, the first ones
MOST_SOUGHT = 5  # words of a search: each is a look-up of its own

_TAG = re.compile(r"\w[\w.:/@+-]*")
_WORD = re.compile(r"[^\W_]+")


class InvalidTags(ValueError):
    """These cannot be a job's tags. The message says which is wrong, and what is allowed."""


def read_tags(wanted: Any) -> list[str]:
    """The tags as they are kept: in small letters, each once, in order."""
    if not isinstance(wanted, list):
        raise InvalidTags('must be a list of tags, such as ["billing", "team:data"].')
    tags = sorted({read_tag(tag) for tag in wanted[: 2 * MOST_TAGS]})
    if len(wanted) > 2 * MOST_TAGS or len(tags) > MOST_TAGS:
        raise InvalidTags(f"{len(wanted)} tags. A job has {MOST_TAGS} at most.")
    return tags


def read_tag(wanted: Any) -> str:
    """One tag as it is kept: `Billing ` and `billing` are the same."""
    if not isinstance(wanted, str):
        raise InvalidTags(f"{str(wanted)[:LONGEST_TAG]!r} is no text. A tag is.")
    wanted = wanted.strip()
    # The length is checked first: the cost of the plain form is quadratic in the number of combining characters.
    tag = _plain(wanted) if len(wanted) <= LONGEST_WRITTEN else ""
    if not tag or len(tag) > LONGEST_TAG or not _TAG.fullmatch(tag):
        raise InvalidTags(
            f"{wanted[:LONGEST_TAG]!r} is no tag. A tag has 1 to {LONGEST_TAG} letters, digits or . : / @ + - _ "
            "and begins with a letter or digit."
        )
    return tag


def words_of(text: str) -> list[str]:
    """The words of a name or of a search, as they are compared: in small letters, without accents or signs."""
    decomposed = unicodedata.normalize("NFKD", text[:LONGEST_READ])  # at a quadratic cost, so of a bounded part
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return list(dict.fromkeys(word[:LONGEST_TERM] for word in _WORD.findall(bare.casefold())))


def term_of_tag(tag: str) -> str:
    return f"#{tag}"


def terms_of(name: str, tags: Sequence[str]) -> list[str]:
    """All that a job is found by."""
    return [*map(term_of_tag, tags), *words_of(name)[:MOST_WORDS]]


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
