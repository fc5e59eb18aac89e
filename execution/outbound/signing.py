"""Signs a request by the Standard Webhooks rules, so that its receiver knows who sent it and that it is no replay."""

from __future__ import annotations

import base64
import binascii
import hmac
from hashlib import sha256
from uuid import UUID

PREFIX = "whsec_"
SIZES = range(24, 65)  # bytes of a secret, by the same rules


def read_secret(text: str) -> bytes:
    """The key that a secret such as `whsec_…` stands for, or a ValueError with what is wrong."""
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) not in SIZES:
        raise ValueError(f"must be {PREFIX} and the base64 of {SIZES[0]} to {SIZES[-1]} random bytes.")
    return key


def spell_secret(key: bytes) -> str:
    return PREFIX + base64.b64encode(key).decode()


def tenant_key(tenant_id: UUID, root: str) -> bytes:
    """A tenant's own key: nobody has to make or keep it, and it tells nothing of the root or of other tenants' keys."""
    return hmac.new(root.encode(), b"punctual standard-webhooks 1 " + tenant_id.bytes, sha256).digest()


def signed_headers(message_id: str, timestamp: int, body: bytes, keys: list[bytes]) -> dict[str, str]:
    """The three headers; with several keys, a receiver who knows any of them is content."""
    content = f"{message_id}.{timestamp}.".encode() + body
    digests = (base64.b64encode(hmac.new(key, content, sha256).digest()).decode() for key in keys)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{digest}" for digest in digests),
    }
