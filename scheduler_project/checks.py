"""Settings that each make sense, but not together."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from execution.outbound import guard_of
from jobs.alerts.operators import undeliverable
from scheduler_project.env import env

PUNCTUAL = (
    "punctual"  # tag: what daemons check. The others' checks read every URL, which takes longer than all the rest
)
SHORTEST_KEY = 32  # characters
OWN_CONNECTIONS = 4  # an executor's main loop, bookkeeper, heart, and one to spare


@register(PUNCTUAL)
def connections_for_every_thread(**options: Any) -> list[CheckMessage]:
    pool = settings.DATABASES["default"].get("OPTIONS", {}).get("pool")
    return too_few_connections(pool["max_size"], settings.EXECUTOR_THREADS) if pool else []


@register(PUNCTUAL)
def keys_that_cannot_be_guessed(**options: Any) -> list[CheckMessage]:
    return short_keys([settings.SECRETS_KEY, *settings.SECRETS_OLD_KEYS])


def short_keys(keys: list[str]) -> list[CheckMessage]:
    if all(len(key) >= SHORTEST_KEY for key in keys):
        return []
    return [
        Error(
            f"A key of SECRETS_KEY or SECRETS_OLD_KEYS has fewer than {SHORTEST_KEY} characters: it could be guessed.",
            hint="Make one with: python -c 'import secrets; print(secrets.token_urlsafe(48))'",
            id="punctual.E003",
        )
    ]


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


@register(PUNCTUAL)
def workers_that_count_together(**options: Any) -> list[CheckMessage]:
    """Of granian's own workers; those of `scheduler_project.serve` are given a folder."""
    return counts_apart(env.str("GRANIAN_WORKERS", default=""), env.str("PROMETHEUS_MULTIPROC_DIR", default=""))


def counts_apart(workers: str, folder: str) -> list[CheckMessage]:
    # What is no number granian refuses itself.
    if folder or not workers.isdecimal() or int(workers) < 2:
        return []
    return [
        Warning(
            f"GRANIAN_WORKERS is {workers}, and each worker counts for itself: /metrics tells the numbers of "
            "one of them, another at each look.",
            hint="Set GRANIAN_WORKERS=1 and run more web processes, or PROMETHEUS_MULTIPROC_DIR to a folder that is "
            "empty whenever they start.",
            id="punctual.W004",
        )
    ]


@register(PUNCTUAL)
def alerts_that_reach_somebody(**options: Any) -> list[CheckMessage]:
    faults = undeliverable(settings.ALERT_EMAILS, settings.ALERT_WEBHOOK, settings.ALERT_WEBHOOK_SECRET)
    hint = "ALERT_EMAILS=oncall@example.com,ops@example.com ALERT_WEBHOOK=https://… ALERT_WEBHOOK_SECRET=whsec_…"
    return [Error(fault, hint=hint, id="punctual.E004") for fault in faults]


@register(PUNCTUAL)
def hosts_that_can_be_read(**options: Any) -> list[CheckMessage]:
    try:
        guard_of(settings.HTTP_ALLOWED_HOSTS, settings.HTTP_PORTS)
    except ValueError as error:
        hint = "Separate entries by commas: HTTP_ALLOWED_HOSTS=billing.internal:8080,10.1.0.0/16 HTTP_PORTS=80,443."
        return [Error(f"HTTP_ALLOWED_HOSTS or HTTP_PORTS: {error}", hint=hint, id="punctual.E005")]
    return []
