"""What failures have in common: the same mistake, whoever it happened to. Pure.

Of an error's text, everything that differs from one execution to the next is left out: numbers, ids, addresses,
quoted values. What stays is what went wrong, and executions that share it are one line in the list of dead letters.
"""

from __future__ import annotations

import re
from hashlib import blake2b

LENGTH = 16  # hex digits: enough that no two causes of one tenant ever meet
LONGEST_READ = 4_000  # characters of an error: what it is about is told at its start
LONGEST_KEPT = 300  # characters of what is left of it
VARIES = "#"

# One pass from left to right. None of these looks at a character more than a few times, whatever the text.
PARTS = re.compile(
    r"""
      "[^"]*" | `[^`]*` | “[^”]*” | «[^»]*» | (?<!\w)'[^']*'(?!\w)  # quoted; the ' of "can't" quotes nothing
    | (?P<kept> \b(?:http|smtp|status|code|errno|answered|returned)\b [\s:=(\[]{1,3} \d{1,3} (?![\w-]|\.\d) )
    | \w[\w@.+-]*
    """,
    re.VERBOSE | re.IGNORECASE,
)
HEX = re.compile(r"[0-9a-f]{8,}\Z", re.IGNORECASE)
SEVERAL = re.compile(rf"{VARIES}(?:[\s,;:/&()\[\]-]*{VARIES})+")  # a list of them is like one, however long


def fingerprint(task: str, error: str) -> str:
    """The same for errors of the same task and kind that say the same of different things.

    `error` is an execution's: the name of the exception, a colon and its message.
    """
    return blake2b(f"{task}\0{what_is_wrong(error)}".encode(errors="replace"), digest_size=LENGTH // 2).hexdigest()


def what_is_wrong(error: str) -> str:
    """The error without what varies. A status or error code stays: 404 and 503 are not the same mistake."""
    bare = PARTS.sub(_kept, error[:LONGEST_READ])
    return SEVERAL.sub(VARIES, " ".join(bare.split()))[:LONGEST_KEPT]


def _kept(part: re.Match[str]) -> str:
    text = part.group()
    if part["kept"]:
        return text.lower()
    if not (text[0].isalnum() or text[0] == "_"):
        return VARIES
    word = text.rstrip(".+-@")
    varies = any(character.isdigit() for character in word) or "@" in word or HEX.match(word)
    return f"{VARIES}{text[len(word) :]}" if varies else text
