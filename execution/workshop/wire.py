"""What goes through the pipe to a child and back, in few and simple words.

Packing and unpacking would cost more than running a fast handler. So a claim is called by a number, ids travel as
numbers too, and an attempt that completed is told in three words; only one that ended otherwise is told in full.
"""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any
from uuid import UUID

from jobs.ids import uuid_of
from jobs.ledger import Claim, Outcome, completion
from jobs.states import Status

Packed = tuple[Any, ...]


def send(pipe: Connection, message: Any) -> None:
    pipe.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def receive(pipe: Connection) -> Any:
    return pickle.loads(pipe.recv_bytes())


def pack_claim(claim: Claim) -> Packed:
    packed = (
        claim.execution_id.int,
        claim.attempt,
        claim.job_id.int,
        claim.tenant_id.int,
        claim.task,
        claim.priority,
        claim.forgiven,
        claim.payload,
        claim.limits,
        claim.worker,
        claim.started_at,
        claim.request_id,
        claim.traceparent,
        claim.linked,
    )
    # Only the few that run alone have to know that they do.
    return (*packed, None, True) if claim.suspect else packed


def unpack_claim(execution: int, attempt: int, job: int, tenant: int, *rest: Any) -> Claim:
    return Claim(uuid_of(execution), attempt, uuid_of(job), _tenant(tenant), *rest)


@lru_cache(maxsize=1000)  # there are few, and each comes again and again
def _tenant(number: int) -> UUID:
    return uuid_of(number)


def pack_outcome(outcome: Outcome) -> Packed:
    if outcome.status is Status.COMPLETED:
        return outcome.at.timestamp(), outcome.took, outcome.result
    return (outcome,)


def unpack_outcome(claim: Claim, told: Packed) -> Outcome:
    if len(told) == 1:
        return told[0]
    at, took, result = told
    when = datetime.fromtimestamp(at, UTC)
    return completion(claim.execution_id, claim.attempt, when, result, took)
