"""HTTP to the outside: whom we may talk to, and no more patience with them than was agreed.

The address that is connected to is the one that was checked; no redirect, proxy or second look at the name
comes in between.
"""

from execution.outbound.deadline import Deadline
from execution.outbound.errors import NoAnswer, Refused
from execution.outbound.exchange import Answer, Request, exchange
from execution.outbound.guard import Guard, guard_of
from execution.outbound.urls import Target, read_url

__all__ = [
    "Answer",
    "Deadline",
    "Guard",
    "NoAnswer",
    "Refused",
    "Request",
    "Target",
    "exchange",
    "guard_of",
    "read_url",
]
