"""Moves whole batches of executions through their life: the hot path's SQL, all of it.

Models make the same moves one row at a time. Here a batch costs one statement, and every
statement carries its own guard (status, and `attempt` as the fencing token), so a caller may
repeat it or race with another without harm. It decides nothing: callers say what moves where.
New jobs and their audit events come in by the batch too, and so do acts on many jobs.
"""

from jobs.ledger.claiming import Attempted, Claim, claim, heartbeat, read_claims
from jobs.ledger.inserting import insert
from jobs.ledger.leasing import lease_due
from jobs.ledger.moving import JobMove, move_jobs
from jobs.ledger.recording import (
    DueJob,
    NewExecution,
    NextRun,
    Sent,
    bring_back,
    let_rest,
    lock_due,
    mark_queued,
    postpone,
    record,
    tenants_of,
)
from jobs.ledger.settling import Outcome, completion, settle
from jobs.ledger.shelving import shelve
from jobs.ledger.skipping import NewSkip, skip
from jobs.ledger.speaking import keep_lines, keep_progress
from jobs.ledger.waiting import Going, WaitingFor, going_on, let_go, nap, waited_for

__all__ = [
    "Attempted",
    "Claim",
    "DueJob",
    "Going",
    "JobMove",
    "NewExecution",
    "NewSkip",
    "NextRun",
    "Outcome",
    "Sent",
    "WaitingFor",
    "bring_back",
    "claim",
    "completion",
    "going_on",
    "heartbeat",
    "insert",
    "keep_lines",
    "keep_progress",
    "lease_due",
    "let_go",
    "let_rest",
    "lock_due",
    "mark_queued",
    "move_jobs",
    "nap",
    "postpone",
    "read_claims",
    "record",
    "settle",
    "shelve",
    "skip",
    "tenants_of",
    "waited_for",
]
