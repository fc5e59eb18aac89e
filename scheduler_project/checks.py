"""Settings that each make sense, but not together."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from execution.outbound import guard_of
from jobs.alerts.operators import undeliverable
from scheduler_project.env import known_names
from scheduler_project.keys import shared_keys, short_keys
from scheduler_project.names import misspelt

PUNCTUAL = (
    "punctual"  # tag: what daemons check. The others' checks read every URL, which takes longer than all the rest
)
PRELOAD_AGE = 31_536_000  # seconds: what hstspreload.org asks for
OWN_CONNECTIONS = 4  # an executor's main loop, bookkeeper, heart, and one to spare


@register(PUNCTUAL)
def connections_for_every_thread(**options: Any) -> list[CheckMessage]:
    pool = settings.DATABASES["default"].get("OPTIONS", {}).get("pool")
    threads = settings.EXECUTOR_THREADS + settings.EXECUTOR_SPARE_THREADS
    return too_few_connections(pool["max_size"], threads) if pool else []


@register(PUNCTUAL)
def keys_that_cannot_be_guessed(**options: Any) -> list[CheckMessage]:
    before = {"SECRETS_OLD_KEYS": settings.SECRETS_OLD_KEYS, "SECRET_KEY_FALLBACKS": settings.SECRET_KEY_FALLBACKS}
    old = {f"{name}[{place}]": key for name, keys in before.items() for place, key in enumerate(keys)}
    return [
        *(Error(*_told(fault), id="punctual.E003") for fault in short_keys(settings.SIGNING_KEYS | old)),
        *(Warning(*_told(fault), id="punctual.W003") for fault in shared_keys(settings.SIGNING_KEYS)),
    ]


def _told(fault: str) -> tuple[str, str]:
    """What is wrong, and what to do."""
    fact, _, remedy = fault.partition(". ")
    return f"{fact}.", remedy


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
def names_that_nobody_reads(**options: Any) -> list[CheckMessage]:
    return [
        Warning(
            f"{name} is not a setting and has no effect. The nearest setting is {meant}.",
            hint=f"Rename it to {meant}, or unset it. scheduler_project/settings.py has every setting.",
            id="punctual.W005",
        )
        for name, meant in misspelt(os.environ, known_names()).items()
    ]


@register(PUNCTUAL)
def workers_that_count_together(**options: Any) -> list[CheckMessage]:
    """Of granian's own workers; those of `scheduler_project.serve` are given a folder."""
    return counts_apart(os.environ.get("GRANIAN_WORKERS", ""), os.environ.get("PROMETHEUS_MULTIPROC_DIR", ""))


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
def https_is_recognised(**options: Any) -> list[CheckMessage]:
    return redirected_for_ever(production=settings.PRODUCTION, proxies=settings.TRUSTED_PROXIES)


def redirected_for_ever(*, production: bool, proxies: int) -> list[CheckMessage]:
    if not production or proxies:
        return []
    return [
        Warning(
            "PRODUCTION is true and TRUSTED_PROXIES is 0: X-Forwarded-Proto is ignored, and each page redirects to "
            "itself.",
            hint="Set TRUSTED_PROXIES to the number of proxies before the web server, usually 1.",
            id="punctual.W007",
        )
    ]


def findings_at_web_start() -> list[CheckMessage]:
    """What is logged when a web server starts: nobody runs checks there."""
    return [*workers_that_count_together(), *names_that_nobody_reads(), *https_is_recognised()]


@register(PUNCTUAL)
def alerts_that_reach_somebody(**options: Any) -> list[CheckMessage]:
    faults = undeliverable(settings.ALERT_EMAILS, settings.ALERT_WEBHOOK, settings.ALERT_WEBHOOK_SECRET)
    hint = "ALERT_EMAILS=oncall@example.com,ops@example.com ALERT_WEBHOOK=https://… ALERT_WEBHOOK_SECRET=whsec_…"
    return [Error(fault, hint=hint, id="punctual.E004") for fault in faults]


@register(PUNCTUAL)
def preload_that_browsers_accept(**options: Any) -> list[CheckMessage]:
    if not settings.HSTS_PRELOAD or (settings.HSTS_SUBDOMAINS and settings.HSTS_AGE >= PRELOAD_AGE):
        return []
    hint = "Set HSTS_SUBDOMAINS=true and HSTS_AGE=365d, or unset HSTS_PRELOAD."
    fact = "HSTS_PRELOAD needs HSTS_SUBDOMAINS=true and an HSTS_AGE of a year: browsers refuse to preload less."
    return [Warning(fact, hint=hint, id="punctual.W006")]


@register(PUNCTUAL)
def hosts_that_can_be_read(**options: Any) -> list[CheckMessage]:
    try:
        guard_of(settings.HTTP_ALLOWED_HOSTS, settings.HTTP_PORTS)
    except ValueError as error:
        hint = "Separate entries by commas: HTTP_ALLOWED_HOSTS=billing.internal:8080,10.1.0.0/16 HTTP_PORTS=80,443."
        return [Error(f"HTTP_ALLOWED_HOSTS or HTTP_PORTS: {error}", hint=hint, id="punctual.E005")]
    return []
