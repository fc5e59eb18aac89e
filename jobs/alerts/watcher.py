"""Looks for what should have happened and did not. Any number may run; one looks at a time.

It decides what is told, and never sends it: a slow receiver must not keep anybody from being told. While the database
is away it knows nothing and tells nothing; then its ping stays away too, which is what somebody outside notices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from execution.registry import Registry
from jobs.alerts import keeping, looking
from jobs.alerts.composing import compose
from jobs.alerts.judging import (
    Trouble,
    failed_troubles,
    is_mended,
    late_troubles,
    stood_still,
    system_troubles,
    why_missed,
)
from jobs.alerts.kinds import Kind
from jobs.alerts.memory import NOBODY, Memory
from jobs.alerts.operators import keep_contacts
from jobs.clock import Clock
from jobs.models import Incident, Job, Presence, Watch
from jobs.models.presence import Present
from jobs.models.watch import LATELY

MISSING = ("poller", "recoverer")  # roles that there must be one of; executors only where work waits for them


@dataclass(frozen=True, slots=True)
class Patience:
    """How long something may last before it is an incident."""

    missed: timedelta
    late: timedelta
    absent: timedelta
    stalled: timedelta


class Watcher:
    def __init__(
        self,
        registry: Registry,
        *,
        clock: Clock,
        patience: Patience,
        ping: Callable[[datetime], None] = lambda now: None,
    ) -> None:
        self.registry = registry
        self.clock = clock
        self.patience = patience
        self.ping = ping

    def tick(self) -> int:
        """Look once, unless somebody else is looking, and ping; return 0, because nothing is to be looked at twice.

        That somebody else is about to look is no reason to say that all is well: one must have done so lately.
        """
        now = self.clock.now()
        with transaction.atomic():
            if (watch := Watch.objects.hold()) is not None:
                self._look(watch, now)
        if Watch.objects.looked_lately(now):
            self.ping(now)
        return 0

    def _look(self, watch: Watch, now: datetime) -> None:
        """What is found, what is remembered and what is to be told are committed together, or not at all."""
        keep_contacts(now)
        memory = Memory.read(watch.memory, now)
        if watch.looked_at is not None and now - watch.looked_at > LATELY:
            memory = memory._replace(resumed=now)
        present = Presence.objects.counted(now)
        absences = memory.absences.seen([role for role in MISSING if not present.roles[role]], now)
        standstill = stood_still(memory.standstill, Job.objects.earliest_due(now), now)
        waits_since, lost_since = now - self.patience.late, now - self.patience.stalled
        offered = looking.offered(waits_since, lost_since, self.registry.local_names())
        stalls = memory.stalls.seen(offered, present.concluded, now)
        memory = memory._replace(absences=absences, standstill=standstill, stalls=stalls)
        of_system = self._processes(memory, present, now)
        self._missed(memory, of_system, present, now)
        self._late(memory, {one.subject for one in of_system if one.kind is Kind.NO_EXECUTOR}, now)
        memory = self._failed(memory, now)
        compose(now)
        watch.looked_at, watch.memory = now, memory.kept()
        watch.save()

    def _processes(self, memory: Memory, present: Present, now: datetime) -> list[Trouble]:
        troubles = system_troubles(
            memory.absences.lasting(now, self.patience.absent),
            memory.standstill,
            looking.unserved(now - self.patience.late, self.registry.local_names(), present.serving),
            stalled=memory.stalls.lasting(now, self.patience.stalled),
            overrun=present.overrun,
            now=now,
            overdue=self.patience.missed,
            stuck=self.patience.absent,
        )
        wrong = {(one.kind, one.subject) for one in troubles}
        known = {(one.kind, one.subject): one for one in Incident.objects.open().of_the_system()}
        keeping.end([one for what, one in known.items() if what not in wrong], now)
        new = [one for one in troubles if (one.kind, one.subject) not in known]
        keeping.begin([one for one in new if memory.has_looked_for(self._usual(one.kind), now)], now)
        return troubles

    def _usual(self, kind: Kind) -> timedelta:
        """How long a system takes to get over this by itself, when all of it has just been started."""
        return self.patience.late if kind is Kind.NO_EXECUTOR else self.patience.absent

    def _missed(self, memory: Memory, of_system: list[Trouble], present: Present, now: datetime) -> None:
        known = list(Incident.objects.open().of_kind(Kind.MISSED))
        over = looking.no_longer_missed(known)
        keeping.end(over, now, looking.what_became(over))
        # A poller that catches up may have moved a job to its next due time since: that is for the next look.
        still = {one.subject for one in known} - {one.subject for one in over}
        if not memory.has_looked_for(self.patience.missed, now):
            return
        cause = why_missed(of_system, pollers=present.roles["poller"])
        found = looking.missed(now - self.patience.missed, cause)
        keeping.begin([one for one in found if one.subject not in still], now)

    def _late(self, memory: Memory, unserved: set[str], now: datetime) -> None:
        before = now - self.patience.late
        troubles = {one.subject: one for one in late_troubles(looking.late(before, self.registry.names()), unserved)}
        known = {one.subject: one for one in Incident.objects.open().of_kind(Kind.LATE)}
        quiet = [one for subject, one in known.items() if subject not in troubles]
        still = looking.still_late(quiet, before)
        keeping.end([one for one in quiet if one.pk not in still], now)
        for subject, incident in known.items():
            if subject in troubles and troubles[subject].execution != incident.execution:
                keeping.turn_to(incident, troubles[subject])
        if memory.has_looked_for(self.patience.late, now):
            keeping.begin([one for subject, one in troubles.items() if subject not in known], now)

    def _failed(self, memory: Memory, now: datetime) -> Memory:
        found, all_read = looking.failures(memory.failures)
        troubles = {one.subject: one for one in failed_troubles(found)}
        known = Incident.objects.open().of_kind(Kind.FAILED).filter(subject__in=list(troubles))
        for incident in known:
            keeping.go_on(incident, troubles.pop(incident.subject))
        keeping.begin(list(troubles.values()), now)
        place = self._mended(memory.place, now)
        return memory._replace(failures=memory.failures.advanced(found, now=now, all_read=all_read), place=place)

    def _mended(self, place: UUID, now: datetime) -> UUID:
        """Of the failures that are open, some at a time: the end of the list is followed by its beginning."""
        some = Incident.objects.open().of_kind(Kind.FAILED).filter(pk__gt=place).order_by("pk")
        found = list(some[: looking.MOST_MENDED])
        own, completed = looking.outcomes(found)
        over = [one for one in found if is_mended(own.get(one.execution), completed_since=one.pk in completed)]
        keeping.end(over, now)
        return found[-1].pk if len(found) == looking.MOST_MENDED else NOBODY
