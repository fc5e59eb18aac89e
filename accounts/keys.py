"""API keys: made, shown once, and recognised.

A key is `punctual_`, a prefix that it is found by, and a secret of which only the hash is kept.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from accounts.models import ApiKey, Membership, Tenant, User
from accounts.models.api_key import Scope
from accounts.quota import QuotaExceeded, take_turn
from accounts.standing import key_with_standing

FORM = re.compile(r"punctual_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
MOST_KEYS = 100  # that can be used, a tenant: enough for every machine, and a loop that makes them is noticed


class BadKey(Exception):
    """The key opens nothing."""


class NewKey(NamedTuple):
    """A key, and the text of it that is never shown again."""

    key: ApiKey
    text: str


@transaction.atomic
def create_key(
    *,
    tenant: Tenant,
    creator: User,
    name: str,
    scopes: Collection[str],
    expires_at: datetime | None = None,
    rate_limit: int | None = None,
) -> NewKey:
    """Make a key that speaks for `tenant` in its creator's name."""
    take_turn(tenant)
    used = ApiKey.objects.for_tenant(tenant).usable(timezone.now())[: MOST_KEYS + 1].count()
    if used >= MOST_KEYS:
        raise QuotaExceeded("api_keys", limit=MOST_KEYS, used=used, remedy="Revoke one that is not needed any more.")
    prefix, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = ApiKey.objects.create(
        tenant=tenant,
        creator=creator,
        name=name,
        prefix=prefix,
        digest=_digest(secret),
        scopes=" ".join(scope for scope in Scope.values if scope in scopes),
        expires_at=expires_at,
        rate_limit=rate_limit,
    )
    return NewKey(key, f"punctual_{prefix}_{secret}")


def user_of_key(text: str, wanted: str | None) -> User:
    """In whose name the key asks, with their standing in its tenant. Raises BadKey."""
    match = FORM.fullmatch(text)
    if match is None:
        raise BadKey("This is no API key. One looks like punctual_<prefix>_<secret>.")
    prefix, secret = match.groups()
    user = key_with_standing(prefix, wanted)
    if user is None or not compare_digest(user.standing.key.digest, _digest(secret)):
        raise BadKey("There is no such API key. Check it, or make another.")
    now = timezone.now()
    if why := user.standing.key.why_not(now):
        raise BadKey(why)
    if not user.is_active or user.standing.membership is None:
        raise BadKey("Whoever made this API key no longer belongs to its tenant. Have another made.")
    user.standing.key.note_use(now)
    return user


def visible_to(membership: Membership):
    """The keys of a tenant that one of its people may see and revoke: an owner all, others their own."""
    keys = ApiKey.objects.for_tenant(membership.tenant).select_related("creator")
    return keys if membership.owns else keys.of(membership.user)


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
