"""How we speak to RabbitMQ: the waits, each with its reason, applied over the URL."""

from __future__ import annotations

import pika

HEARTBEAT = 30  # s; a peer that vanished without a word is noticed after about this
BLOCKED_TIMEOUT = 10  # s; a broker short of memory or disk stops reading: without this a publish hangs
CONNECT_TIMEOUT = 3  # s, for TCP
HANDSHAKE_TIMEOUT = 5  # s, for TCP, TLS and AMQP together: a frozen broker still accepts TCP
ANSWER_TIMEOUT = 10.0  # s, for a question, from connecting to the answer
CONFIRM_TIMEOUT = 15.0  # s, for a publish, from connecting to the last confirm
CLOSE_TIMEOUT = 2.0  # s; a broker that does not say goodbye is left without it


def parameters(url: str, name: str) -> pika.URLParameters:
    """Read the URL, and apply what the rest of this package relies on."""
    params = pika.URLParameters(url)
    params.heartbeat = HEARTBEAT
    params.blocked_connection_timeout = BLOCKED_TIMEOUT
    params.socket_timeout = CONNECT_TIMEOUT
    params.stack_timeout = HANDSHAKE_TIMEOUT
    params.connection_attempts = 1  # trying again is ours to decide
    params.client_properties = {"connection_name": name}
    return params
