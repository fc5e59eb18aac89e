"""Moves whole batches of executions through their life: the hot path's SQL, all of it.

Models make the same moves one row at a time. Here a batch costs one statement, and every
statement carries its own guard (status, and `attempt` as the fencing token), so a caller may
repeat it or race with another without harm. It decides nothing: callers say what moves where.
New jobs and their audit events come in by the batch too.
"""

from jobs.ledger.claiming import Attempted, Claim, claim, heartbeat, read_claims
from jobs.ledger.inserting import insert
from jobs.ledger.leasing import lease_due
from jobs.ledger.recording import DueJob, NewExecution, NextRun, Sent, let_rest, lock_due, mark_queued, record
from jobs.ledger.settling import Outcome, settle

__all__ = [
    "Attempted",
    "Claim",
    "DueJob",
    "NewExecution",
    "NextRun",
    "Outcome",
    "Sent",
    "claim",
    "heartbeat",
    "insert",
    "lease_due",
    "let_rest",
    "lock_due",
    "mark_queued",
    "read_claims",
    "record",
    "settle",
]
