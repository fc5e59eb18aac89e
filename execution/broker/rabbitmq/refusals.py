"""Turns what pika and RabbitMQ say when they refuse into the port's errors: fact, then remedy."""

from __future__ import annotations

import re

from pika.adapters.utils.connection_workflow import AMQPConnectionWorkflowFailed, AMQPConnectorPhaseErrorBase
from pika.exceptions import AMQPConnectionError, ChannelClosed, ChannelClosedByBroker, ConnectionClosed

from execution.broker.base import BrokerError, BrokerUnavailable, TopologyMismatch

NOT_FOUND = 404
PRECONDITION_FAILED = 406


class NotThere(BrokerUnavailable):
    """The queue or exchange does not exist (any more)."""


_INEQUIVALENT = re.compile(
    r"inequivalent arg '(?P<argument>[^']+)' for (?P<kind>queue|exchange) '(?P<name>.+)' "
    r"in vhost '(?P<vhost>.*)': received (?P<ours>.+) but current is (?P<theirs>.+)"
)
_VALUE = re.compile(r"(?:the value )?'(.*?)'(?: of type '\w+')?")


def describe(error: BaseException) -> str:
    """Say in one line why a connection or channel is gone, without pika's wrapping."""
    while True:
        match error:
            case AMQPConnectionWorkflowFailed(exceptions=[*_, last]):
                error = last
            case AMQPConnectorPhaseErrorBase(exception=inner) | AMQPConnectionError(args=[Exception() as inner]):
                error = inner
            case ConnectionClosed() | ChannelClosed():
                return f"{error.reply_text} ({error.reply_code})"
            case _:
                return str(error) or type(error).__name__


def refusal(reason: BaseException) -> BrokerError:
    """Return the port's error for a channel that closed for this reason."""
    if isinstance(reason, ChannelClosedByBroker) and reason.reply_code == NOT_FOUND:
        return NotThere(describe(reason))
    if isinstance(reason, ChannelClosedByBroker) and reason.reply_code == PRECONDITION_FAILED:
        found = _INEQUIVALENT.search(reason.reply_text)
        if found:
            return TopologyMismatch(_mismatch(**found.groupdict()))
    return BrokerUnavailable(describe(reason))


def _mismatch(*, argument: str, kind: str, name: str, vhost: str, ours: str, theirs: str) -> str:
    where = "" if vhost == "/" else f" -p {vhost}"
    tool = f"rabbitmqctl{where} delete_queue {name}" if kind == "queue" else "in the management interface"
    return (
        f"{kind} '{name}' exists with {argument} {_value(theirs)}, we need {_value(ours)}: "
        f"stop executors, delete the {kind} ({tool}) and start again; "
        "executions are re-sent from the database"
    )


def _value(text: str) -> str:
    found = _VALUE.fullmatch(text)
    return found[1] if found else text
