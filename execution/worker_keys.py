"""Makes keys for workers in other languages, and tells whose a key is.

A key is shown once, when it is made. What is kept cannot be turned back into it.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.db import transaction
from django.dispatch import receiver

from accounts.models import Membership, Tenant, User
from accounts.quota import QuotaExceeded, take_turn
from accounts.revoking import ownership_lost
from execution.models import WorkerKey
from execution.models.worker_key import digest
from execution.registry import UnknownTask, registry
from jobs.clock import database_now

logger = structlog.get_logger(__name__)

MAX_KEYS = 100  # that can be used, a tenant
PREFIX = "pwk_"  # so that a key that got where it does not belong is known for what it is


class Made(NamedTuple):
    key: WorkerKey
    secret: str  # what the worker sends; nobody can be told it again


@transaction.atomic
def make_worker_key(
    tasks: Collection[str],
    *,
    name: str = "",
    tenant: Tenant | None = None,
    owner: User | None = None,
    expires_at: datetime | None = None,
) -> Made:
    """A key for these tasks, of one tenant's executions or of everybody's. Raises UnknownTask and QuotaExceeded."""
    wanted = sorted(set(tasks))
    for task in wanted:
        if not registry.get(task).remote:
            remote = ", ".join(registry.remote_names()) or "none"
            raise UnknownTask(f"{task!r} is run by our own executors. Declared for other workers: {remote}.")
    if tenant is not None:
        take_turn(tenant)
        used = WorkerKey.objects.for_tenant(tenant).valid(database_now())[: MAX_KEYS + 1].count()
        if used >= MAX_KEYS:
            raise QuotaExceeded("worker_keys", limit=MAX_KEYS, used=used, remedy="Revoke a key that is not needed.")
    secret = PREFIX + secrets.token_urlsafe(32)
    key = WorkerKey.objects.create(
        name=name or f"worker of {', '.join(wanted)}"[:100],
        tasks=wanted,
        tenant=tenant,
        owner=owner,
        digest=digest(secret),
        created_at=database_now(),
        expires_at=expires_at,
    )
    logger.info("worker_key.made", key=str(key.pk), tasks=wanted, tenant=tenant and str(tenant.pk))
    return Made(key, secret)


def recognise(secret: str) -> WorkerKey | None:
    """The key that is spelled like this, if it is still good."""
    now = database_now()
    key = WorkerKey.objects.valid(now).spelled(secret).first()
    if key is not None:
        key.note_use(now)
    return key


def still_valid(key: WorkerKey) -> bool:
    """Whether a key that was recognised a while ago may still be used."""
    return WorkerKey.objects.valid(database_now()).filter(pk=key.pk).exists()


def revoke(key: WorkerKey) -> None:
    """Revoke a key at once. What its worker holds goes to another worker when the lease runs out."""
    WorkerKey.objects.filter(pk=key.pk).revoke(database_now())
    logger.info("worker_key.revoked", key=str(key.pk))


@receiver(ownership_lost, sender=Membership)
def _revoke_of_owner(user_id: int, tenant_id: UUID | None, **_: Any) -> None:
    keys = WorkerKey.objects.filter(owner=user_id)
    revoked = (keys if tenant_id is None else keys.filter(tenant=tenant_id)).revoke(database_now())
    if revoked:
        logger.info("worker_key.revoked", owner=user_id, tenant=tenant_id and str(tenant_id), count=revoked)
