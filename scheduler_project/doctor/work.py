"""Whether work moves: nothing overdue, nothing stuck, nobody missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Min

from execution.defaults import default_limits
from execution.registry import UnknownTask, registry
from jobs.alerts.looking import offered, unserved
from jobs.clock import database_now
from jobs.models import Execution, Job, Presence
from scheduler_project.doctor.findings import Finding, error, note, warning

PATIENCE = timedelta(seconds=60)  # what is late by less may be on its way
MOST = 1000  # rows looked at
ROLES = {
    "poller": ("nothing becomes due", "manage.py run_poller"),
    "recoverer": ("retries, lost work and runs asked for by hand wait", "manage.py run_recoverer"),
}
REDRIVE = "redrive_overdue"
RESTORE = "restore_overdue"
FORGET = "forget_presences"


def who_is_there() -> list[Finding]:
    now = database_now()
    present = list(Presence.objects.present(now))
    stale = Presence.objects.exclude(pk__in=[one.pk for one in present]).count()
    return [
        *absent({one.role for one in present}, waiting=_ready_tasks(now)),
        *releases({one.version for one in present}),
        *silent(stale),
        *hanging([one for one in present if one.stuck]),
    ]


def _ready_tasks(now: datetime) -> list[str]:
    """Tasks whose work has waited for an executor of ours: as watchers judge it, when none serves any."""
    return sorted(unserved(now - PATIENCE, registry.local_names(), serving={}))


def absent(roles: Collection[str], *, waiting: Sequence[str]) -> list[Finding]:
    found = [
        error(f"work.no_{role}", f"No {role} is running: {so}.", f"Start one: {command}.")
        for role, (so, command) in ROLES.items()
        if role not in roles
    ]
    if "executor" not in roles:
        found.append(no_executor(waiting))
    if "watcher" not in roles:
        fact = "No watcher is running: nobody is told of what is missed, late or failed, nor that any of these is gone."
        found.append(warning("work.no_watcher", fact, "Start one: manage.py run_watcher."))
    return found


def no_executor(waiting: Sequence[str]) -> Finding:
    """What scales executors to none while nothing waits does so on purpose: that alone is nothing wrong."""
    start = "Start one: manage.py run_executor"
    if waiting:
        fact = f"No executor is running, and work waits for one: {', '.join(waiting[:5])}."
        return error("work.no_executor", fact, f"{start}. Where something scales them, see why it started none.")
    fact = "No executor is running. Nothing waits for one."
    return note("work.no_executor", fact, f"{start}, unless something does so once work waits.")


def releases(versions: Collection[str]) -> list[Finding]:
    if len(versions) < 2:
        return []
    return [
        warning(
            "work.mixed_releases",
            f"Processes of different releases run together: {', '.join(sorted(versions))}.",
            "Fine during an upgrade. Restart what is left of the old one afterwards.",
        )
    ]


def silent(count: int) -> list[Finding]:
    if not count:
        return []
    return [
        note(
            "work.silent_processes",
            f"{count} process(es) vanished without saying goodbye: killed, or cut off.",
            "They are forgotten after an hour; --repair does it now. See what ended them: the kernel's log names those "
            "killed for want of memory.",
            repair=FORGET,
        )
    ]


def hanging(stuck: Sequence[Presence]) -> list[Finding]:
    """A process whose presence goes on being told, by a thread of its own, while its loop does not go on."""
    if not stuck:
        return []
    named = ", ".join(f"{one} for {int((one.seen_at - one.round_at).total_seconds()):,} s" for one in stuck[:3])
    return [
        error(
            "work.stuck_process",
            f"{len(stuck)} process(es) are there and hang inside a round: {named}.",
            "See what they wait for, such as a lock in the database or a silent server, then restart them.",
        )
    ]


def overdue_jobs() -> list[Finding]:
    now = database_now()
    late = Job.objects.due(now - PATIENCE)
    count = late.order_by()[:MOST].count()
    if not count:
        return []
    oldest = late.order_by("next_run_at").values_list("pk", "next_run_at").first()
    return [
        error(
            "work.overdue_jobs",
            f"{_at_least(count)} job(s) are due for more than a minute and not recorded; {_since(oldest, now)}.",
            "See that a poller runs and what it logs; with --repair they are put into the due index once more.",
            repair=RESTORE,
        )
    ]


def overdue_executions() -> list[Finding]:
    now = database_now()
    late = Execution.objects.stalled(now - PATIENCE)
    count = late.order_by()[:MOST].count()
    if not count:
        return []
    oldest = late.values_list("pk", "wake_at").first()
    return [
        error(
            "work.overdue_executions",
            f"{_at_least(count)} execution(s) should have moved more than a minute ago; {_since(oldest, now)}.",
            "See that a recoverer runs and what it logs, or run with --repair, which does its rounds.",
            repair=REDRIVE,
        )
    ]


def _at_least(count: int) -> str:
    return f"{count:,}" if count < MOST else f"{MOST:,} or more"


def _since(oldest: tuple[object, datetime] | None, now: datetime) -> str:
    if oldest is None:
        return "the oldest moved just now"
    return f"the oldest, {oldest[0]}, for {int((now - oldest[1]).total_seconds()):,} s"


def stuck_executions() -> list[Finding]:
    """Those that run for longer than they may: whoever should stop them does not."""
    now = database_now()
    oldest = Execution.objects.held().select_related("job").order_by("started_at")
    stuck = [one for one in oldest.filter(started_at__lt=now - PATIENCE)[:MOST] if _ran_out(one, now)]
    if not stuck:
        return []
    named = ", ".join(f"{one.pk} ({one.task}) on {one.worker}" for one in stuck[:3])
    return [
        error(
            "work.stuck",
            f"{_at_least(len(stuck))} execution(s) run for longer than their time limit allows: {named}.",
            "Restart the executor they run on: they are tried again. With ISOLATE_HANDLERS=true such work is ended.",
        )
    ]


def _ran_out(one: Execution, now: datetime) -> bool:
    limit = time_limit(one)
    return one.started_at is not None and now - one.started_at > limit + 2 * settings.END_GRACE + PATIENCE


def time_limit(one: Execution) -> timedelta:
    if one.job.time_limit is not None:
        return timedelta(seconds=one.job.time_limit)
    try:
        of_task = registry.get(one.task).limits.time_limit
    except UnknownTask:
        of_task = None
    return of_task or default_limits().time_limit or settings.TIME_LIMIT


def unserved_tasks() -> list[Finding]:
    """Work that waits, and no executor takes."""
    now = database_now()
    served = Presence.objects.counted(now).serving
    waiting = Execution.objects.waiting().looked_after().filter(not_before__lte=now - PATIENCE)
    lines = waiting.order_by().values_list("task").annotate(Count("pk"), Min("not_before"))
    return without_takers({task: (count, since) for task, count, since in lines}, served, registry.remote_names(), now)


def without_takers(
    waiting: Mapping[str, tuple[int, datetime]], served: Collection[str], remote: Collection[str], now: datetime
) -> list[Finding]:
    found = []
    for task, (count, since) in sorted(waiting.items()):
        if task in served:
            continue
        seconds = int((now - since).total_seconds())
        by = "its own workers (docs/workers.md)" if task in remote else f"manage.py run_executor --tasks {task}"
        found.append(
            error(
                "work.nobody_serves",
                f"{count:,} execution(s) of {task!r} wait, the oldest for {seconds:,} s, and no executor serves it.",
                f"Start {by}.",
            )
            if task not in remote
            else warning(
                "work.nobody_serves",
                f"{count:,} execution(s) of {task!r} wait for workers of their own, the oldest for {seconds:,} s.",
                f"See that {by} run.",
            )
        )
    return found


def idle_executors() -> list[Finding]:
    """Tasks that executors serve without completing anything, as watchers judge it."""
    now = database_now()
    begun = now - settings.STALLED_AFTER
    troubled = offered(begun, begun, registry.local_names())
    executors = Presence.objects.present(now).filter(role="executor")
    return complete_nothing(troubled, [one for one in executors if one.since <= now - PATIENCE], since=begun)


def complete_nothing(offered: Collection[str], executors: Sequence[Presence], *, since: datetime) -> list[Finding]:
    found = []
    for task in sorted(offered):
        serving = [one for one in executors if task in one.tasks]
        if not serving or any(one.concluded_at and one.concluded_at > since for one in serving):
            continue
        held = sum(one.holding for one in serving)
        found.append(
            error(
                "work.nothing_completes",
                f"{len(serving)} executor(s) serve {task!r}, hold {held:,} execution(s), and have completed no attempt "
                f"for {int(settings.STALLED_AFTER.total_seconds()):,} s, while executions of it wait or are lost.",
                "Check the executors' log for errors and tracebacks, and the kernel's log for killed processes. If the "
                "handlers take this long, start more executors or increase STALLED_AFTER.",
            )
        )
    return found


def unknown_tasks() -> list[Finding]:
    scheduled = Job.objects.scheduled().order_by().values_list("task").annotate(Count("pk"))
    return unregistered(dict(scheduled), registry.names())


def unregistered(jobs: Mapping[str, int], names: Sequence[str]) -> list[Finding]:
    return [
        error(
            "work.unknown_task",
            f"{count:,} active job(s) are of the task {task!r}, which nothing here registers: each run will fail.",
            "Add the app that has it to EXTRA_APPS on every machine, or cancel these jobs.",
        )
        for task, count in sorted(jobs.items())
        if task not in names
    ]
