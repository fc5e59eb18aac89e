"""What may be mended by a program: nothing that loses anything, and nothing that a daemon would not do itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.conf import settings

from execution.processes import make_recoverer
from jobs.clock import database_now
from jobs.models import Presence
from scheduler_project.doctor import index, work
from scheduler_project.doctor.findings import Finding
from scheduling.index import get_due_index
from scheduling.rebuild import rebuild, restore_overdue

ROUNDS = 200  # of a recoverer, at most: what is overdue beyond that needs one that stays


def rebuild_index() -> str:
    return f"rebuilt the due index from {rebuild(get_due_index()):,} job(s)"


def restore_jobs() -> str:
    now = database_now()
    restored = restore_overdue(get_due_index(), due_before=now - settings.OVERDUE_AFTER, limit=work.MOST)
    return f"put {restored:,} overdue job(s) into the due index once more"


def redrive() -> str:
    recoverer = make_recoverer()
    moved = 0
    for _ in range(ROUNDS):
        done = recoverer.tick()
        moved += done
        if not done:
            break
    return f"moved {moved:,} overdue execution(s) on"


def forget_presences() -> str:
    now = database_now()
    present = [one.pk for one in Presence.objects.present(now)]
    gone, _ = Presence.objects.exclude(pk__in=present).delete()
    return f"forgot {gone} process(es) that vanished"


REPAIRS: dict[str, Callable[[], str]] = {
    index.REBUILD: rebuild_index,
    work.RESTORE: restore_jobs,
    work.REDRIVE: redrive,
    work.FORGET: forget_presences,
}


def repair(findings: Iterable[Finding]) -> list[str]:
    """Mend what can be mended of these, each kind once; return what was done."""
    wanted = {one.repair for one in findings if one.repair}
    return [mend() for name, mend in REPAIRS.items() if name in wanted]
