"""Seals secrets before they are stored, and opens them where a handler needs them.

AES-256-GCM, with the tenant as what must match: a sealed value that was copied into another tenant's row does not open.
Each names its key, so that keys can be changed: the first seals, all of them open.
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from jobs.redaction import MARK, SEALED, is_hidden, is_sealed, may_hide, replaced

VERSION = "1"
NONCE = 12  # bytes, random: good for billions of values a key


class CannotOpen(Exception):
    """A sealed value that none of our keys opens, or that is another tenant's."""


class Seal:
    """Made of keys as texts, the one to seal with first."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._ciphers = {_name_of(key): AESGCM(_derived(key)) for key in reversed(keys)}
        self._name = _name_of(keys[0])

    def sealed(self, document: Any, tenant: UUID, also: Collection[str] = ()) -> Any:
        """The document with every secret in it sealed; the same object where there is none.

        `also` are names of secrets besides those that say so. A mark is left as it is.
        """

        def seal(name: str, value: Any) -> Any:
            if value == MARK or is_sealed(value) or not is_hidden(name, value, also):
                return value
            return self._closed(value, tenant)

        return replaced(document, seal) if may_hide(document, also) else document

    def opened(self, document: Any, tenant: UUID) -> Any:
        """The document with every sealed value in it opened."""
        return replaced(document, lambda name, value: self._open(value, tenant) if is_sealed(value) else value)

    def secrets_in(self, document: Any, tenant: UUID) -> list[Any]:
        """What is sealed in the document."""
        found: list[Any] = []

        def note(name: str, value: Any) -> Any:
            if is_sealed(value):
                found.append(self._open(value, tenant))
            return value

        replaced(document, note)
        return found

    def _closed(self, value: Any, tenant: UUID) -> dict[str, str]:
        nonce = os.urandom(NONCE)
        text = json.dumps(value, ensure_ascii=False).encode()
        box = nonce + self._ciphers[self._name].encrypt(nonce, text, tenant.bytes)
        return {SEALED: f"{VERSION}.{self._name}.{urlsafe_b64encode(box).decode()}"}

    def _open(self, value: dict[str, str], tenant: UUID) -> Any:
        try:
            _, name, text = value[SEALED].split(".")
            box = urlsafe_b64decode(text)
            cipher = self._ciphers[name]
        except (AttributeError, KeyError, ValueError):
            raise CannotOpen(
                "A secret was sealed with a key that this process does not have. Give all processes the same "
                "SECRETS_KEY, and list the keys it had before in SECRETS_OLD_KEYS."
            ) from None
        try:
            return json.loads(cipher.decrypt(box[:NONCE], box[NONCE:], tenant.bytes))
        except InvalidTag:
            raise CannotOpen(
                "A sealed secret was changed, or belongs to another tenant. Set it once more in its job."
            ) from None


@lru_cache(maxsize=8)
def _made(*keys: str) -> Seal:
    return Seal(keys)


def get_seal() -> Seal:
    """The one the settings' keys make."""
    return _made(settings.SECRETS_KEY, *settings.SECRETS_OLD_KEYS)


def _derived(key: str) -> bytes:
    return HKDF(SHA256(), length=32, salt=None, info=b"punctual payload secrets").derive(key.encode())


def _name_of(key: str) -> str:
    """Tells keys apart, and nothing of them."""
    return blake2b(_derived(key), digest_size=4, person=b"name of a key").hexdigest()
