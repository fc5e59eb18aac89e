"""Settings that each make sense, but not together."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

PUNCTUAL = (
    "punctual"  # tag: what daemons check. The others' checks read every URL, which takes longer than all the rest
)
OWN_CONNECTIONS = 4  # an executor's main loop, bookkeeper, heart, and one to spare


@register(PUNCTUAL)
def connections_for_every_thread(**options: Any) -> list[CheckMessage]:
    pool = settings.DATABASES["default"].get("OPTIONS", {}).get("pool")
    return too_few_connections(pool["max_size"], settings.EXECUTOR_THREADS) if pool else []


def too_few_connections(size: int, threads: int) -> list[CheckMessage]:
    wanted = threads + OWN_CONNECTIONS
    if size >= wanted:
        return []
    return [
        Warning(
            f"An executor may need {wanted} database connections, and its pool has {size}: handlers will wait.",
            hint=f"Set DATABASE_POOL_SIZE to at least {wanted}, or EXECUTOR_THREADS to less.",
            id="punctual.W001",
        )
    ]
