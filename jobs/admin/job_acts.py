"""What can be done to jobs: the services' acts, in the admin's words."""

from __future__ import annotations

from accounts.models import User
from accounts.quota import QuotaExceeded
from jobs import services
from jobs.admin.acts import Act, each
from jobs.models import Job
from jobs.states import JOB_TRANSITIONS, IllegalMove, JobStatus


def _run(job: Job, actor: User) -> str:
    execution = services.run_job_now(job, actor=actor)
    return f"{job}: runs now, as execution {execution.pk}."


def _pause(job: Job, actor: User) -> str:
    services.pause_job(job, actor=actor)
    return f"{job}: paused. What is recorded already still runs."


def _resume(job: Job, actor: User) -> str:
    resumed = services.resume_job(job, actor=actor)
    following = resumed.job.next_run_at
    then = f"Next run {following:%Y-%m-%d %H:%M:%S} UTC." if following else "It has no further run."
    return f"{job}: resumed. {then} {resumed.missed.outcome if resumed.missed.count else ''}".rstrip()


def _cancel(job: Job, actor: User) -> str:
    services.cancel_job(job, actor=actor)
    return f"{job}: cancelled for good."


def _may(job: Job, status: JobStatus) -> bool:
    return status in JOB_TRANSITIONS[JobStatus(job.status)]


REFUSALS = (IllegalMove, QuotaExceeded, Job.DoesNotExist)
RUN = Act(
    "run",
    "Run now",
    "play_arrow",
    "Each runs once, now, and goes on by its schedule as if nothing had happened.",
    each(_run, *REFUSALS),
    lambda job: job.status != JobStatus.CANCELLED,
)
PAUSE = Act(
    "pause",
    "Pause",
    "pause",
    "No more executions are made until they are resumed. What is recorded already still runs.",
    each(_pause, *REFUSALS),
    lambda job: _may(job, JobStatus.PAUSED),
)
RESUME = Act(
    "resume",
    "Resume",
    "resume",
    "They go on with the next due time from now. What they missed while paused is told, and not made up for.",
    each(_resume, *REFUSALS),
    lambda job: job.status == JobStatus.PAUSED,
)
CANCEL = Act(
    "cancel",
    "Cancel",
    "block",
    "They end for good. What waits is cancelled, and what runs is asked to end. This cannot be taken back.",
    each(_cancel, *REFUSALS),
    lambda job: _may(job, JobStatus.CANCELLED),
    grave=True,
)
JOB_ACTS = (RUN, PAUSE, RESUME, CANCEL)
