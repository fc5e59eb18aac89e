"""Which values of a payload are secret: those that go by a name that says so. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

LONGEST_NAME = 100  # characters: of a longer one, only its end is looked at
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # of snake_case, kebab-case, camelCase and SHOUTING alike

# What a name must end with. So `max_tokens`, `token_type` and `secretary` say nothing of a secret.
SECRET = frozenset(
    (
        *("apikey", "auth", "authorization", "bearer", "cookie", "cookies", "credential", "credentials", "jwt"),
        *("passcode", "passphrase", "passwd", "password", "passwords", "pwd", "secret", "secrets", "token"),
    )
)
# … or with one of these, and `key`.
SECRET_KEYS = frozenset(("access", "account", "api", "encryption", "private", "secret", "shared", "signing"))


def is_secret(name: str, also: Collection[str] = ()) -> bool:
    """Whether a value of this name is one to hide; `also` are others that are, as `spelled` spells them."""
    name = name[-LONGEST_NAME:]
    return _says_so(name) or (bool(also) and spelled(name) in also)


@lru_cache(maxsize=10_000)  # the same few names come again and again
def spelled(name: str) -> str:
    """A name such that all the ways to write it are the same."""
    return "".join(WORD.findall(name)).lower()


@lru_cache(maxsize=10_000)
def _says_so(name: str) -> bool:
    words = [word.lower() for word in WORD.findall(name)]
    match words:
        case [*_, whose, "key"]:
            return whose in SECRET_KEYS
        case [*_, last]:
            return last in SECRET
    return False
