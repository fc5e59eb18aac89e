"""Whether a run may start while the one before it, of the same job, is still going.

The one before is the latest that the schedule made and that was meant to run. Runs asked for by hand count for nothing
here, and jobs that allow overlaps cost nothing. Whoever asks holds the jobs' locks, so that no rival adds a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from jobs import ledger
from jobs.ledger import DueJob, Going, NewExecution
from jobs.models import Execution
from jobs.policies import MOST_WAITING, Overlap, overlap_of
from scheduling.misfire import Skipped, told
from scheduling.upcoming import is_recurring

OUTRUN = "the next run of its job came due (overlap: cancel_previous)"


def policy_of(job: DueJob) -> Overlap:
    return overlap_of(job.overlap, recurring=is_recurring(job.schedule))


def minds(job: DueJob) -> bool:
    """Whether a job's latest run has to be remembered. One that allows overlaps now may not do so by the next."""
    return is_recurring(job.schedule) or job.overlap not in (None, Overlap.ALLOW)


def still_going(jobs: Iterable[DueJob], *, now: datetime) -> dict[UUID, Going]:
    """For each job that minds, and whose previous run is not over: that run, after it was cancelled if the job says so.

    Call it in a transaction that holds the jobs' locks.
    """
    asked = {job.latest: policy_of(job) for job in jobs if job.latest and policy_of(job) is not Overlap.ALLOW}
    going = ledger.going_on(asked)
    if outrun := [one for one in going if asked[one.id] is Overlap.CANCEL_PREVIOUS]:
        Execution.objects.filter(pk__in=[one.id for one in outrun]).cancel(OUTRUN, now)
        # One that waited is over with that, but what it waited for may not be.
        left = [place for one in outrun for place in (one.id, one.waits_for) if place]
        going = [one for one in going if asked[one.id] is not Overlap.CANCEL_PREVIOUS] + ledger.going_on(left)
    return {one.job_id: one for one in going}


def fit_in(
    runs: Sequence[NewExecution], policy: Overlap, previous: Going | None
) -> tuple[list[NewExecution], list[Skipped]]:
    """Which of a job's new runs take place, each told what it has to wait for; and which do not, and why."""
    if policy is Overlap.ALLOW:
        return list(runs), []
    fitting: list[NewExecution] = []
    skipped: list[Skipped] = []
    ahead = previous.id if previous else None
    reason = _reason(previous, policy) if previous else "The run before it has only just been recorded (overlap: skip)."
    # What is caught up on in one go may wait as a whole, however much that is.
    room = max(MOST_WAITING, len(runs)) - (previous.line if previous else 0)
    for run in runs:
        if ahead is not None and (policy is Overlap.SKIP or room <= 0):
            skipped.append(Skipped(run.due_at, reason))
            continue
        room -= ahead is not None
        run.waits_for = ahead
        ahead = run.id
        fitting.append(run)
    return fitting, skipped


def _reason(previous: Going, policy: Overlap) -> str:
    if policy is not Overlap.SKIP:
        return f"{previous.line} runs of this job wait already for the one before them (overlap: {policy})."
    return (
        f"The previous run, {previous.id}, due {told(previous.due_at)}, is still {previous.status}, "
        f"since {told(previous.since)} (overlap: skip)."
    )
