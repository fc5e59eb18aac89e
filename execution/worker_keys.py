"""Makes keys for workers in other languages, and tells whose a key is.

A key is shown once, when it is made. What is kept cannot be turned back into it.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

import structlog

from accounts.models import Tenant, User
from execution.models import WorkerKey
from execution.models.worker_key import digest
from execution.registry import UnknownTask, registry
from jobs.clock import database_now

logger = structlog.get_logger(__name__)

PREFIX = "pwk_"  # so that a key that got where it does not belong is known for what it is


class Made(NamedTuple):
    key: WorkerKey
    secret: str  # what the worker sends; nobody can be told it again


def make_worker_key(
    tasks: Collection[str],
    *,
    name: str = "",
    tenant: Tenant | None = None,
    owner: User | None = None,
    expires_at: datetime | None = None,
) -> Made:
    """A key for these tasks, of one tenant's executions or of everybody's. Raises UnknownTask."""
    wanted = sorted(set(tasks))
    for task in wanted:
        if not registry.get(task).remote:
            remote = ", ".join(registry.remote_names()) or "none"
            raise UnknownTask(f"{task!r} is run by our own executors. Declared for other workers: {remote}.")
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


def revoke(key: WorkerKey) -> None:
    """Take a key back at once. What its worker holds is somebody else's when the lease runs out."""
    WorkerKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=database_now())
    logger.info("worker_key.revoked", key=str(key.pk))
