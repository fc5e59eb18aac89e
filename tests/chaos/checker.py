"""Judges a history: nothing lost, nothing recorded twice, no stale word taken, no repeat without a reason. Pure.

Every function returns what it found wrong, each with the execution or job it is about. None of them believes a
source by itself: a row that says COMPLETED needs a handler that says so too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tests.chaos.blame import Span, explanation
from tests.chaos.history import AttemptRow, ExecutionRow, History, JobRow, Run

UNFINISHED = ("SCHEDULED", "QUEUED", "RUNNING", "RETRYING")
MILLISECOND = 0.001
STOPPED_RECURRING = 15.0  # seconds without a due time before the end, beyond the interval


@dataclass(frozen=True, slots=True)
class Finding:
    subject: str  # an execution's id, or a job's
    what: str


@dataclass
class Verdict:
    lost: list[Finding] = field(default_factory=list)
    duplicate_rows: list[Finding] = field(default_factory=list)
    stale_writes: list[Finding] = field(default_factory=list)
    unexplained: list[Finding] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicate_rows or self.stale_writes or self.unexplained)

    def all(self) -> Iterator[tuple[str, Finding]]:
        for name in ("lost", "duplicate_rows", "stale_writes", "unexplained"):
            for finding in getattr(self, name):
                yield name, finding


def check(history: History) -> Verdict:
    return Verdict(
        lost=[
            *lost_jobs(history),
            *stuck_rows(history),
            *missing_due_times(history),
            *groundless_skips(history),
        ],
        duplicate_rows=list(duplicate_rows(history)),
        stale_writes=list(stale_writes(history)),
        unexplained=[*extra_effects(history), *overlaps(history), *lost_leases(history)],
    )


# ---- 1. nothing accepted is lost ----


def lost_jobs(history: History) -> Iterator[Finding]:
    """An accepted job has its row, and an execution, unless somebody cancelled or paused it first."""
    rows = {job.id: job for job in history.jobs}
    ran = {execution.job for execution in history.executions}
    executions = {execution.id for execution in history.executions}
    cancelled, paused = _asked(history, "cancel"), _asked(history, "pause")
    for one in history.accepted:
        if one.job not in rows:
            yield Finding(one.job, f"accepted over {one.via}, and there is no such job")
        elif one.execution and one.execution not in executions:
            yield Finding(one.job, f"its execution {one.execution} was promised, and there is none")
        elif one.job in ran or one.job in paused:  # whether it was paused in time, `missing_due_times` judges
            continue
        elif not (one.job in cancelled and rows[one.job].status == "CANCELLED"):
            yield Finding(one.job, f"accepted ({one.kind}), and never became an execution")


def stuck_rows(history: History) -> Iterator[Finding]:
    """Every execution has come to an end that its handlers, its errors or a person's act bear out."""
    cancelled = _asked(history, "cancel")
    completed = {(run.execution, run.attempt) for run in history.runs if run.what == "completed"}
    for row in history.executions:
        match row.status:
            case "COMPLETED" if (row.id, _author(row)) not in completed:
                yield Finding(row.id, "says COMPLETED, and no handler says so")
            case "FAILED" if not row.error:
                yield Finding(row.id, "FAILED without a reason")
            case "FAILED" if row.wake_at is not None:
                yield Finding(row.id, "FAILED, and never reached the dead letters")
            case "CANCELLED" if row.job not in cancelled:
                yield Finding(row.id, "CANCELLED, and nobody asked for it")
            case status if status in UNFINISHED:
                yield Finding(row.id, f"still {status} when all should have been drained")


def missing_due_times(history: History) -> Iterator[Finding]:
    """A recurring job has a row for every due time, but for those that a pause took or a skipped one covers."""
    recurring = {job.id: job for job in history.jobs if job.schedule.get("type") == "interval"}
    rows = _by_job(row for row in history.executions if row.job in recurring and row.cause == "schedule")
    accepted = {one.job: one.at for one in reversed(history.accepted)}
    for name, job in recurring.items():
        pauses = _pauses(history, name)
        seconds = float(job.schedule["seconds"])
        due = sorted(rows.get(name, []), key=lambda row: row.due_at)
        for before, after in pairwise(due):
            if after.due_at - (before.covers_until or before.due_at) < seconds + MILLISECOND:
                continue
            if not _touched(pauses, before.due_at, after.due_at):
                yield Finding(name, f"no execution between {before.due_at:.3f} and {after.due_at:.3f}, every {seconds}")
        last = due[-1].due_at if due else accepted.get(name, float("inf"))
        if pauses and pauses[-1][0] - last > seconds + STOPPED_RECURRING:
            earlier = [pause for pause in pauses[:-1] if pause[1] >= last]
            if not earlier:
                yield Finding(name, f"stopped recurring after {last:.3f}")


def groundless_skips(history: History) -> Iterator[Finding]:
    """All overlaps are allowed, so only the misfire rule skips: the earliest due time found with it came too late."""
    found: dict[tuple[str, float], float] = {}
    for row in history.executions:
        together = row.job, row.recorded_at
        found[together] = min(row.due_at, found.get(together, row.due_at))
    for row in history.executions:
        late = row.recorded_at - found[row.job, row.recorded_at]
        if row.status == "SKIPPED" and (not row.reason or late <= history.timing.misfire_grace):
            yield Finding(row.id, f"SKIPPED, found {late:.3f} seconds late: {row.reason or 'no reason'}")


# ---- 2. a due time is recorded once ----


def duplicate_rows(history: History) -> Iterator[Finding]:
    """One row for a job and due time; one row at all for a job that is due once; no due time between two."""
    seen: dict[tuple[str, float, str], str] = {}
    for row in history.executions:
        first = seen.setdefault((row.job, row.due_at, row.cause), row.id)
        if first != row.id:
            yield Finding(row.id, f"a second row for job {row.job} due {row.due_at:.6f}: the first is {first}")
    jobs = {job.id: job for job in history.jobs}
    for name, rows in _by_job(row for row in history.executions if row.cause == "schedule").items():
        due = sorted({row.due_at for row in rows})
        yield from _off_schedule(jobs[name], due)


def _off_schedule(job: JobRow, due: list[float]) -> Iterator[Finding]:
    if job.schedule.get("type") == "once" and len(due) > 1:
        yield Finding(job.id, f"due once, recorded for {due}")
    if job.schedule.get("type") == "interval":
        seconds = float(job.schedule["seconds"])
        for before, after in pairwise(due):
            steps = (after - before) / seconds
            if abs(steps - round(steps)) * seconds > MILLISECOND:
                yield Finding(job.id, f"{after:.6f} is no due time: {before:.6f} is one, every {seconds}")


# ---- 3. one worker speaks for an execution ----


def stale_writes(history: History) -> Iterator[Finding]:
    """The highest attempt has the last word, and no number was given to two."""
    runs = _by_execution(history.runs)
    attempts: dict[str, list[AttemptRow]] = defaultdict(list)
    for one in history.attempts:
        attempts[one.execution].append(one)
    for row in history.executions:
        mine = runs.get(row.id, [])
        if row.status == "COMPLETED" and _author(row) != row.attempt:
            yield Finding(row.id, f"holds the result of attempt {_author(row)}, and attempt {row.attempt} was claimed")
        if (highest := max((run.attempt for run in mine), default=0)) > row.attempt:
            yield Finding(row.id, f"attempt {highest} ran, and the row knows of {row.attempt}")
        for one in attempts[row.id]:
            if row.status == "COMPLETED" and one.number >= row.attempt:
                yield Finding(row.id, f"attempt {one.number} is both {one.outcome} and completed")
        holders: dict[int, set[tuple[int, float]]] = defaultdict(set)
        for run in mine:
            holders[run.attempt].add((run.pid, run.began))
        for attempt, who in holders.items():
            if len(who) > 1:
                pids = ", ".join(str(pid) for pid, _ in sorted(who))
                yield Finding(row.id, f"attempt {attempt} was started {len(who)} times, by processes {pids}")


# ---- 4. what happened twice has a reason ----


def extra_effects(history: History) -> Iterator[Finding]:
    """A handler that completed without its answer being the row's was hit by a fault."""
    rows = {row.id: row for row in history.executions}
    claimed = _claimed_at(history)
    for run in history.runs:
        row = rows.get(run.execution)
        if run.what != "completed" or row is None:
            continue
        if row.status == "COMPLETED" and _author(row) == run.attempt:
            continue
        span = Span(run.pid, run.slot, claimed.get((run.execution, run.attempt), run.began), run.ended or run.began)
        if explanation(span, history) is None:
            yield Finding(run.execution, f"attempt {run.attempt} completed, did not count, and no fault explains it")


def overlaps(history: History) -> Iterator[Finding]:
    """Two attempts at once mean that the older one was hit by a fault."""
    ends = {life.pid: life.ended for life in history.lifetimes}
    claimed = _claimed_at(history)
    for execution, runs in _by_execution(history.runs).items():
        ordered = sorted(runs, key=lambda run: (run.attempt, run.began))
        for older, newer in pairwise(ordered):
            ended = older.ended or ends.get(older.pid) or older.began
            if ended <= newer.began:
                continue
            since = min(older.began, claimed.get((execution, older.attempt), older.began))
            if explanation(Span(older.pid, older.slot, since, newer.began), history) is None:
                yield Finding(
                    execution, f"attempts {older.attempt} and {newer.attempt} ran at once, and no fault explains it"
                )


def lost_leases(history: History) -> Iterator[Finding]:
    """A worker that was taken for lost was hit by a fault."""
    slots = {life.pid: life.slot for life in history.lifetimes}
    for one in history.attempts:
        if one.outcome == "FAILED":
            continue
        since = one.started_at or one.finished_at
        span = Span(one.pid, slots.get(one.pid, ""), since, one.finished_at)
        if explanation(span, history) is None:
            yield Finding(one.execution, f"attempt {one.number} lost its lease, and no fault explains it")


# ---- reading the history ----


def _author(row: ExecutionRow) -> int | None:
    """Which attempt's answer the row holds."""
    return row.result.get("attempt") if isinstance(row.result, dict) else None


def _asked(history: History, verb: str) -> set[str]:
    return {act.job for act in history.acts if act.verb == verb}


def _claimed_at(history: History) -> dict[tuple[str, int], float]:
    return {(one.execution, one.number): one.started_at for one in history.attempts if one.started_at is not None}


def _by_job(rows: Iterable[ExecutionRow]) -> dict[str, list[ExecutionRow]]:
    found: dict[str, list[ExecutionRow]] = defaultdict(list)
    for row in rows:
        found[row.job].append(row)
    return found


def _by_execution(runs: Iterable[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        found[run.execution].append(run)
    return found


def _pauses(history: History, job: str) -> list[tuple[float, float]]:
    """When the job may have been paused: from the asking until a resume was answered."""
    acts = sorted((act for act in history.acts if act.job == job), key=lambda act: act.asked)
    pauses: list[tuple[float, float]] = []
    for act in acts:
        if act.verb == "pause" and not (pauses and pauses[-1][1] == float("inf")):
            pauses.append((act.asked, float("inf")))
        elif act.verb == "resume" and act.done is not None and pauses:
            pauses[-1] = (pauses[-1][0], act.done)
    return pauses


def _touched(pauses: list[tuple[float, float]], start: float, end: float) -> bool:
    """Whether a pause lies in or around this gap. What was due and not yet recorded goes with the pause."""
    return any(begin <= end and until >= start for begin, until in pauses)
