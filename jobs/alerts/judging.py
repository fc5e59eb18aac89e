"""What is wrong and what is over, by what was seen. Pure: others look, and others keep what is decided here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from jobs.alerts.kinds import OF_A_JOB, Kind
from jobs.fingerprints import fingerprint
from jobs.states import FINAL, Status

OVERLAP = timedelta(minutes=10)  # how late a failure may be written, by a worker whose database was away
MOST_SEEN = 5_000  # failures remembered by name: with more in the overlap, it is cut short
BEGINNING = datetime.min.replace(tzinfo=UTC)
LONGEST_ERROR = 300  # characters of one that a notice repeats


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that is wrong."""

    kind: Kind
    subject: str  # of each kind and subject, one incident is open at a time
    since: datetime  # the due time, or when it began
    title: str
    tenant: UUID | None = None
    job: UUID | None = None
    tags: Sequence[str] = ()
    count: int = 1
    last_at: datetime | None = None  # when it happened last, of what can happen again
    execution: UUID | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def key(self, now: datetime) -> str:
        """What makes it this happening and no other: it is never told twice, whoever looks.

        A process may come and go while the same work waits for it; a due time is missed once.
        """
        happened = self.since if self.kind in OF_A_JOB else now
        return f"{self.kind} {self.subject} {happened.isoformat()}"


class Waiting(NamedTuple):
    """An execution that may start, and has not."""

    id: UUID
    job: UUID
    tenant: UUID
    task: str
    not_before: datetime
    name: str
    tags: Sequence[str]


class Failure(NamedTuple):
    """An execution that was given up."""

    id: UUID
    job: UUID
    tenant: UUID
    task: str
    error: str
    fingerprint: str | None
    at: datetime
    name: str
    tags: Sequence[str]

    @property
    def subject(self) -> str:
        return f"{self.job} {self.fingerprint or fingerprint(self.task, self.error)}"


class Standstill(NamedTuple):
    """The due time that is the earliest of all, and since when it has been."""

    due: datetime
    since: datetime


class Cursor(NamedTuple):
    """How far failures were gone through: all up to `after`, and of later ones those that were seen.

    A failure is written some time after it happened, and others may have been by then. So the last minutes are looked
    at again and again.
    """

    after: datetime
    seen: frozenset[tuple[UUID, datetime]] = frozenset()

    def advanced(self, failures: Sequence[Failure], *, now: datetime, all_read: bool) -> Cursor:
        until = now if all_read else max(one.at for one in failures)
        after = max(self.after, until - OVERLAP)
        known = self.seen | {(one.id, one.at) for one in failures}
        recent = sorted(((pk, at) for pk, at in known if at > after), key=lambda one: one[1])
        if len(recent) > MOST_SEEN:
            after, recent = recent[-MOST_SEEN - 1][1], recent[-MOST_SEEN:]
        return Cursor(after, frozenset(recent))


class Absences(NamedTuple):
    """Who is missing, and since when nobody has been seen."""

    since: Mapping[str, datetime]

    def seen(self, missing: Collection[str], now: datetime) -> Absences:
        return Absences({one: self.since.get(one, now) for one in missing})

    def lasting(self, now: datetime, patience: timedelta) -> Mapping[str, datetime]:
        """Those that are no restart: missing for longer than one takes."""
        return {one: since for one, since in self.since.items() if now - since >= patience}


class Stalls(NamedTuple):
    """Of each task that executors are offered, since when none of them has concluded an attempt."""

    since: Mapping[str, datetime]

    def seen(self, offered: Collection[str], concluded: Mapping[str, datetime], now: datetime) -> Stalls:
        return Stalls({task: max(self.since.get(task, now), concluded.get(task, BEGINNING)) for task in offered})

    def lasting(self, now: datetime, patience: timedelta) -> Mapping[str, datetime]:
        return {task: since for task, since in self.since.items() if now - since >= patience}


def stood_still(known: Standstill | None, earliest: datetime | None, now: datetime) -> Standstill | None:
    """A poller that is merely behind leaves an earlier due time behind with every round; a stuck one none."""
    if earliest is None or known is None or known.due != earliest:
        return None if earliest is None else Standstill(earliest, now)
    return known


def system_troubles(
    absent: Mapping[str, datetime],
    standstill: Standstill | None,
    unserved: Mapping[str, datetime],
    *,
    stalled: Mapping[str, datetime] = MappingProxyType({}),
    overrun: Mapping[str, int] = MappingProxyType({}),
    now: datetime,
    overdue: timedelta,
    stuck: timedelta,
) -> list[Trouble]:
    """What is wrong with the processes: which are gone, which move nothing, and which tasks no executor serves.

    `stalled` are tasks of which executors complete nothing, `overrun` the executors that hold executions past their
    time limit, with how many.
    """
    found = []
    if "poller" in absent:
        found.append(_of_system(Kind.NO_POLLER, absent["poller"], "No poller is running: nothing becomes due."))
    elif standstill and now - standstill.due >= overdue and now - standstill.since >= stuck:
        told = f"A poller is there, but the job due at {standstill.due:%Y-%m-%d %H:%M:%S} UTC is not recorded."
        found.append(_of_system(Kind.STUCK_POLLER, standstill.due, told))
    if "recoverer" in absent:
        told = "No recoverer is running: retries, lost work and runs asked for by hand wait."
        found.append(_of_system(Kind.NO_RECOVERER, absent["recoverer"], told))
    for task, since in sorted(unserved.items()):
        told = f"Executions of {task} wait, and no executor serves it."
        found.append(_of_system(Kind.NO_EXECUTOR, since, told, subject=task))
    for task, since in sorted(stalled.items()):
        if task not in unserved:
            told = f"Executors serve {task}, but have completed no attempt while executions of it wait or are lost."
            found.append(_of_system(Kind.STUCK_EXECUTOR, since, told, subject=task))
    for name, count in sorted(overrun.items()):
        told = f"The executor {name} holds {count:,} execution(s) past their time limit."
        found.append(_of_system(Kind.STUCK_EXECUTOR, now, told, subject=f"on {name}"))
    return found


def _of_system(kind: Kind, since: datetime, title: str, subject: str = "") -> Trouble:
    return Trouble(kind, subject, since, title)


def why_missed(troubles: Iterable[Trouble], *, pollers: int) -> str:
    if not pollers:
        return "no poller is running"
    return "the poller is stuck" if any(one.kind is Kind.STUCK_POLLER for one in troubles) else ""


def late_troubles(waiting: Iterable[Waiting], unserved: Collection[str]) -> list[Trouble]:
    """One for each job, with the execution that has waited longest."""
    of_job: dict[UUID, list[Waiting]] = {}
    for one in waiting:
        of_job.setdefault(one.job, []).append(one)
    found = []
    for job, theirs in of_job.items():
        oldest = min(theirs, key=lambda one: one.not_before)
        cause = f"no executor serves {oldest.task}" if oldest.task in unserved else ""
        found.append(
            Trouble(
                Kind.LATE,
                str(job),
                oldest.not_before,
                oldest.name or oldest.task,
                oldest.tenant,
                job,
                oldest.tags,
                len(theirs),
                execution=oldest.id,
                detail={"task": oldest.task, "cause": cause},
            )
        )
    return found


def failed_troubles(failures: Iterable[Failure]) -> list[Trouble]:
    """One for each job and kind of error, with the latest of them."""
    alike: dict[str, list[Failure]] = {}
    for one in failures:
        alike.setdefault(one.subject, []).append(one)
    found = []
    for subject, theirs in alike.items():
        first, last = (choose(theirs, key=lambda one: one.at) for choose in (min, max))
        found.append(
            Trouble(
                Kind.FAILED,
                subject,
                first.at,
                last.name or last.task,
                last.tenant,
                last.job,
                last.tags,
                len(theirs),
                last.at,
                last.id,
                {"task": last.task, "error": last.error[:LONGEST_ERROR]},
            )
        )
    return found


class Outcome(NamedTuple):
    """How an execution stands."""

    status: Status
    discarded: bool


def is_mended(failed: Outcome | None, *, completed_since: bool) -> bool:
    """Whether a failure is over: a later run of the job has completed, or the one that failed is dead no more."""
    if completed_since or failed is None:  # one that is gone is no longer there to be cared for
        return True
    return failed.status in FINAL and (failed.status is not Status.FAILED or failed.discarded)
