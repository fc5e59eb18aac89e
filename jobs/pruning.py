"""Lets go of history that nobody wants to keep, a little at a time.

Never anything that is not over, and never a dead letter that nobody has discarded: those are somebody's to decide.
What is gone is noted as a horizon before it goes, so that an old due time is not taken for one that was missed. Each
step is one short transaction on a bounded number of rows, so it is in nobody's way and may be stopped at any time; any
number of processes may take steps at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Model, QuerySet

from jobs.clock import database_now
from jobs.ids import lowest_id
from jobs.models import AuditEvent, Execution, Horizon, Incident, Job, JobTerm, LogLine, Notice, Progress
from jobs.models.audit import CHANGES
from jobs.models.horizon import OF_ALL

NOBODY = UUID(int=0)
JOBS_A_STEP = 100  # whose runs are counted: a look into an index for each
# What has only just become old enough is looked at in every round: some of it still goes on.
LINGERS = timedelta(minutes=1)
# Until all that stayed behind is looked at again: dead letters are discarded, and long runs end.
ALL_ANEW = timedelta(minutes=10)
TOLD = 100_000  # old executions are counted as far as this: to count all may take minutes

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """For how long what is kept; None is for ever."""

    history: timedelta | None = None
    runs: int | None = None  # of each recurring job, the latest so many
    words: timedelta | None = None
    audit: timedelta | None = None
    jobs: timedelta | None = None

    @property
    def for_ever(self) -> bool:
        return all(getattr(self, one.name) is None for one in fields(self))


def kept_by_settings() -> Kept:
    return Kept(
        history=settings.HISTORY_KEPT,
        runs=settings.HISTORY_RUNS or None,
        words=settings.WORDS_KEPT,
        audit=settings.AUDIT_KEPT,
        jobs=settings.JOBS_KEPT,
    )


@dataclass(frozen=True, slots=True)
class Step:
    what: str
    gone: int


class Pruner:
    """Goes through everything in steps, and then begins anew."""

    def __init__(self, kept: Kept, *, batch: int) -> None:
        self._kept = kept
        self._batch = batch
        self._steps: Iterator[Step] = iter(())
        self._audited = 0  # the number of the last event gone through
        # Where to begin: what is before stayed behind, and to look at it in every round would keep others waiting.
        self._passed: dict[type[Model], UUID] = {}
        self._anew_at: datetime | None = None

    def step(self) -> int:
        """One step; return how many rows are gone. What there is to be passed over takes steps too."""
        if self._kept.for_ever:
            return 0
        done = next(self._steps, None)
        if done is None:
            self._steps = self.all_steps()
            done = next(self._steps, None)
        return done.gone if done else 0

    def all_steps(self) -> Iterator[Step]:
        """Everything that may go by now, in small steps; whoever takes them decides how fast."""
        kept, now = self._kept, database_now()
        if anew := self._anew_at is None or now >= self._anew_at:
            self._passed.clear()
        # Words first: they go with their executions anyway, but may be kept for less.
        if kept.words is not None:
            for said in (LogLine, Progress):
                theirs = said.objects.order_by("execution_id").values_list("execution_id", flat=True).distinct()
                yield from self._by_due_time("lines", theirs, "execution_id", now - kept.words, partial(_silence, said))
        if kept.history is not None:
            before = now - kept.history
            own = Execution.objects.order_by("pk").values_list("pk", flat=True)
            yield from self._by_due_time("executions", own, "pk", before, partial(_forget_all, before))
            yield from self._by_age("incidents", Incident.objects.filter(recovered_at__lt=before), before)
            yield from self._by_age("notices", Notice.objects.filter(try_at=None), before)
        if kept.runs is not None:
            yield from self._by_count(kept.runs)
        if kept.audit is not None:
            yield from self._audit(now)
        if kept.jobs is not None:
            yield from self._jobs(now - max(kept.jobs, kept.history or kept.jobs, settings.IDEMPOTENCY_KEPT))
        if anew:
            self._anew_at = database_now() + ALL_ANEW

    def _by_due_time(
        self, what: str, rows: QuerySet, key: str, before: datetime, forget: Callable[[list[UUID]], int]
    ) -> Iterator[Step]:
        """Through all that belongs to executions which were due before, by their ids: these carry that time."""
        after, end = self._passed.get(rows.model, NOBODY), lowest_id(before)
        while window := list(rows.filter(**{f"{key}__gt": after, f"{key}__lt": end})[: self._batch]):
            after = window[-1]
            # Over for so long, too: what was due last year may have run this morning.
            over = Execution.objects.filter(pk__in=window, finished_at__lt=before).forgettable()
            yield Step(what, forget(list(over.values_list("pk", flat=True))))
        self._passed[rows.model] = lowest_id(before - LINGERS)

    def _by_age(self, what: str, over: QuerySet, before: datetime) -> Iterator[Step]:
        """Through all that was made before. What is not `over` stays."""
        for window in self._windows(over.model, before):
            yield Step(what, _delete(over.filter(pk__in=window)))

    def _by_count(self, most: int) -> Iterator[Step]:
        after = NOBODY
        recurring = Job.objects.filter(runs__gt=most).order_by("pk")
        while jobs := list(recurring.filter(pk__gt=after).only("pk")[:JOBS_A_STEP]):
            after = jobs[-1].pk
            for job in jobs:
                yield from self._runs_of(job, most)
            yield Step("executions", 0)

    def _runs_of(self, job: Job, most: int) -> Iterator[Step]:
        latest = job.executions.order_by("-pk").values_list("pk", "due_at")
        oldest_kept = next(iter(latest[most - 1 : most]), None)
        if oldest_kept is None:
            return
        older = job.executions.filter(pk__lt=oldest_kept[0]).forgettable().order_by("pk").values_list("pk", flat=True)
        while batch := list(older[: self._batch]):
            Horizon.objects.move({job.pk: oldest_kept[1]})
            yield Step("executions", _forget(batch))

    def _audit(self, now: datetime) -> Iterator[Step]:
        """Through all events by their numbers, which grow with time."""
        kept = self._kept
        assert kept.audit is not None
        # What a job was at some time is told by its changes: without them its history could not be read.
        if kept.history is not None:
            while window := self._events(0, now - max(kept.audit, kept.history)):
                yield Step("audit events", _delete(AuditEvent.objects.filter(pk__in=list(window))))
        # Of what was gone through before, only changes are left.
        while window := self._events(self._audited, now - kept.audit):
            self._audited = max(window)
            others = [pk for pk, action in window.items() if action not in CHANGES]
            yield Step("audit events", _delete(AuditEvent.objects.filter(pk__in=others)))

    def _events(self, after: int, before: datetime) -> dict[int, str]:
        """The next events, as far as they are old enough."""
        rows = AuditEvent.objects.filter(pk__gt=after).order_by("pk").values_list("pk", "at", "action")[: self._batch]
        return {pk: action for pk, at, action in rows if at < before}

    def _jobs(self, before: datetime) -> Iterator[Step]:
        for window in self._windows(Job, before):
            ended = Job.objects.filter(pk__in=window, updated_at__lt=before).ended()
            yield Step("jobs", _forget_jobs(list(ended.values_list("pk", flat=True))))

    def _windows(self, model: type[Model], before: datetime) -> Iterator[list[UUID]]:
        """All that was made before, so many at a time, by ids that carry that time."""
        after, end = self._passed.get(model, NOBODY), lowest_id(before)
        rows = model._default_manager.order_by("pk").values_list("pk", flat=True)
        while window := list(rows.filter(pk__gt=after, pk__lt=end)[: self._batch]):
            after = window[-1]
            yield window
        self._passed[model] = lowest_id(before - LINGERS)


class Announced:
    """Prunes by a default that nobody chose: says at its start what will go, and how to keep it, and waits at first.

    Without anything that old it need not wait: nothing that somebody has come to rely on is lost.
    """

    def __init__(
        self, pruner: Pruner, kept: timedelta, notice: timedelta, *, elapsed: Callable[[], float] = time.monotonic
    ) -> None:
        self._pruner = pruner
        self._kept = kept
        self._notice = notice
        self._elapsed = elapsed
        self._begins: float | None = None

    def step(self) -> int:
        if self._begins is None:
            self._begins = self._announce()
        return self._pruner.step() if self._elapsed() >= self._begins else 0

    def _announce(self) -> float:
        now = database_now()
        before = now - self._kept
        old = Execution.objects.filter(pk__lt=lowest_id(before), finished_at__lt=before).forgettable()
        count = len(old.order_by("pk").values_list("pk", flat=True)[:TOLD])
        remedy = "HISTORY_KEPT=forever keeps everything, HISTORY_KEPT=365d a year; HISTORY_KEPT=90d ends this notice."
        if not count:
            logger.info("history.kept", days=self._kept.days, remedy=remedy)
            return self._elapsed()
        logger.warning(
            "history.will_be_deleted",
            executions=f"{count:,}" if count < TOLD else f"{TOLD:,} or more",
            due_before=before.isoformat(timespec="seconds"),
            begins_at=(now + self._notice).isoformat(timespec="seconds"),
            remedy=remedy,
        )
        return self._elapsed() + self._notice.total_seconds()


def _forget(executions: list[UUID]) -> int:
    """With their attempts, lines and progress, as far as they may still go."""
    with transaction.atomic():
        # Locked, and looked at once more: one that was replayed meanwhile is no history.
        rows = Execution.objects.filter(pk__in=executions).forgettable().order_by("pk")
        held = list(rows.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True))
        Execution.objects.filter(pk__in=held).delete()
    return len(held)


def _forget_all(before: datetime, executions: list[UUID]) -> int:
    if executions:
        Horizon.objects.move({OF_ALL: before})
    return _forget(executions)


def _silence(said: type[Model], executions: list[UUID]) -> int:
    return _delete(said.objects.filter(execution__in=executions))


def _forget_jobs(jobs: list[UUID]) -> int:
    with transaction.atomic():
        ended = Job.objects.filter(pk__in=jobs).ended().order_by("pk")
        held = list(ended.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True))
        AuditEvent.objects.filter(job__in=held).delete()
        JobTerm.objects.forget(held)
        Horizon.objects.forget(held)
        Job.objects.filter(pk__in=held).delete()
    return len(held)


def _delete(rows: QuerySet[Model]) -> int:
    """How many are gone, not counting what went with them."""
    return rows.delete()[1].get(rows.model._meta.label, 0)
