"""A request that is sent twice is carried out once.

Whoever does not know whether a request arrived sends it again with the same key. What it made is kept under that key,
in the transaction that made it, for a day; the key of a request that made nothing is free again. Only what was made
is kept, not the answer: who asks again is told how it stands now.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b, sha256
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.utils.crypto import salted_hmac

from accounts.models import Tenant
from jobs.clock import database_now
from jobs.models import IdempotencyKey, Job

PRUNED = 5  # expired keys deleted for each new one: more than come in, so that they never pile up

Errors = dict[str, str]
Made = Job | Errors  # or what was wrong with each field at fault


class KeyReused(Exception):
    """The key stands for another request."""


class KeyInFlight(Exception):
    """A request with this key is being carried out at this moment."""


class Answer(NamedTuple):
    made: Sequence[Made]
    replayed: bool  # it was made before, by the first request with this key


def fingerprint(act: str, body: Any) -> str:
    """What tells one request from another: not the order of its keys, and not how it is spaced."""
    written = json.dumps([act, body], sort_keys=True, separators=(",", ":"))
    return sha256(written.encode()).hexdigest()


def once(key: str, asked: str, *, tenant: Tenant, make: Callable[[], Sequence[Made]]) -> Answer:
    """What `make` makes, or what it made when it was first asked under this key; `asked` is the fingerprint.

    Raises KeyReused when that was something else, and KeyInFlight while it goes on. What `make` raises leaves no trace.
    """
    with transaction.atomic():
        _take_turn(tenant, key)
        now = database_now()
        known = IdempotencyKey.objects.filter(tenant=tenant, key=key).first()
        if known is not None and known.expires_at > now:
            if known.fingerprint not in (_keyed(asked), asked):  # 0.1.0 stored it without the key
                raise KeyReused(f"The idempotency key {key[:64]!r} stands for another request. Use a new one.")
            return Answer(_read(known.made, tenant), replayed=True)
        IdempotencyKey.objects.prune(now, PRUNED)
        made = make()
        IdempotencyKey.objects.update_or_create(
            tenant=tenant,
            key=key,
            defaults={
                "fingerprint": _keyed(asked),
                "made": [str(one.pk) if isinstance(one, Job) else one for one in made],
                "expires_at": now + settings.IDEMPOTENCY_KEPT,
            },
        )
        return Answer(made, replayed=False)


def _keyed(asked: str) -> str:
    """Return the fingerprint as it is stored: without a key, a reader of the table could guess secrets of the body."""
    return salted_hmac("jobs.idempotency", asked, secret=settings.SECRETS_KEY, algorithm="sha256").hexdigest()


def _take_turn(tenant: Tenant, key: str) -> None:
    """Be the only one with this key until the transaction ends, or raise KeyInFlight.

    A lock, and not a row: one of a process that died would have to be told from one of a process that is slow.
    SQLite has one writer at a time anyway, so there whoever comes second waits, and finds what the first one made.
    """
    if connection.vendor == "sqlite":
        return
    digest = blake2b(tenant.pk.bytes + key.encode(), digest_size=8).digest()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [int.from_bytes(digest, "big", signed=True)])
        [(taken,)] = cursor.fetchall()
    if not taken:
        raise KeyInFlight(f"A request with the idempotency key {key[:64]!r} is being carried out. Repeat it shortly.")


def _read(made: list[str | Errors], tenant: Tenant) -> list[Made]:
    """The jobs as they are now, also those that were deleted since."""
    ids = [UUID(one) for one in made if isinstance(one, str)]
    found = Job.objects.for_tenant(tenant).select_related("owner")
    jobs = (found if len(ids) == 1 else found.in_list()).in_bulk(ids)
    return [jobs[UUID(one)] if isinstance(one, str) else one for one in made]
