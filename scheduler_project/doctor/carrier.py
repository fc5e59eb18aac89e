"""Whether the broker answers, and holds its queues as we declare them."""

from __future__ import annotations

from execution.broker import BrokerError, get_broker
from execution.registry import registry
from execution.remote import tasks_over_http
from scheduler_project.doctor.findings import Finding, error, note

OLDEST = (3, 8)
A_FEW = 1  # dead letters


def server() -> list[Finding]:
    try:
        running = get_broker().version()
    except BrokerError as fault:
        return [
            error(
                "rabbitmq.unreachable",
                f"{fault}. Executions are recorded meanwhile, and wait.",
                "Start RabbitMQ, and check AMQP_URL: its host, user, password and virtual host.",
            )
        ]
    return too_old(running) if running else []


def too_old(running: str) -> list[Finding]:
    parts = tuple(int(part) for part in running.split(".")[:2] if part.isdigit())
    if parts >= OLDEST:
        return []
    return [error("rabbitmq.too_old", f"RabbitMQ {running} is older than 3.8.", "Upgrade it.")]


def alarm() -> list[Finding]:
    try:
        reason = get_broker().alarm()
    except BrokerError:
        return []  # told of above
    if not reason:
        return []
    return [
        error(
            "rabbitmq.alarm",
            f"RabbitMQ answers, and takes no messages: {reason}. Executions are recorded meanwhile, and wait.",
            "Make room on its disk or give it memory: `rabbitmqctl status` names alarms and limits (disk_free_limit, "
            "vm_memory_high_watermark). What waits is sent by itself then.",
        )
    ]


def topology() -> list[Finding]:
    over_http = set(tasks_over_http(registry))
    try:
        found = get_broker().mismatches([name for name in registry.names() if name not in over_http])
    except BrokerError:
        return []  # told of above
    return [error("rabbitmq.mismatch", *_fact_and_remedy(told)) for told in found]


def _fact_and_remedy(told: str) -> tuple[str, str]:
    fact, _, remedy = told.partition(": ")
    return f"{fact}.", f"{remedy[:1].upper()}{remedy[1:]}."


def dead_letters() -> list[Finding]:
    try:
        count = get_broker().dead_letters()
    except BrokerError:
        return []
    if count < A_FEW:
        return []
    return [
        note(
            "work.dead_letters",
            f"{count:,} dead letter(s) wait for somebody to replay or discard them.",
            "See /dead-letters on the dashboard, which groups them by cause.",
        )
    ]
