"""Settings of accounts that would leave a door open."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from scheduler_project.checks import PUNCTUAL

SHORTEST_KEY = 32  # bytes: as long as the hash of HS256, below which the key is what is guessed


@register(PUNCTUAL)
def signing_key(**options: Any) -> list[CheckMessage]:
    return weak_signing_key(settings.JWT_SIGNING_KEY, settings.SECRET_KEY)


def weak_signing_key(key: str, secret_key: str) -> list[CheckMessage]:
    length = len(key.encode())
    if length < SHORTEST_KEY:
        return [
            Error(
                f"JWT_SIGNING_KEY has {length} bytes; tokens signed with fewer than {SHORTEST_KEY} can be forged.",
                hint="Set it to a long random text: python -c 'import secrets; print(secrets.token_urlsafe(64))'",
                id="punctual.E002",
            )
        ]
    if key == secret_key:
        return [
            Warning(
                "JWT_SIGNING_KEY and SECRET_KEY are the same: neither can be changed without the other.",
                hint="Set JWT_SIGNING_KEY to a random text of its own.",
                id="punctual.W003",
            )
        ]
    return []
