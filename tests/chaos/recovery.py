"""How long it took to get going again, by kind of fault. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tests.chaos.history import Fault, History, Run

OUTAGES = ("server_kill", "server_restart", "rabbitmq_alarm")
STARTING = 4.0  # seconds until a process that was ended is at work again
LAST_BEAT = 2.0  # seconds: a lease ends this much earlier at most, if the last heartbeat was that long ago
AFTER_A_WIPE = 3.0  # seconds of due times looked at after Redis was emptied


@dataclass(frozen=True, slots=True)
class Recovery:
    """Seconds, one for each execution concerned."""

    after_kill: list[float]  # of an executor: until what it ran was started again
    undisturbed: list[float]  # the same, less those held up by a second fault: see `_held_up`
    after_freeze: list[float]  # of an executor: the same
    after_wipe: list[float]  # of Redis: how late what was due right after it was recorded
    after_term: list[float]  # of an executor: from the end of its grace until what it did not finish was started again
    finished_at_term: int  # what it did finish after being told to end


def recovery(history: History) -> Recovery:
    runs: dict[str, list[Run]] = defaultdict(list)
    by_pid: dict[int, list[Run]] = defaultdict(list)
    for run in history.runs:
        runs[run.execution].append(run)
        by_pid[run.pid].append(run)

    def again(fault: Fault, *, undisturbed: bool = False) -> list[float]:
        held = [run for run in by_pid[fault.pid or 0] if run.began <= fault.begin and not _ended_by(run, fault)]
        starts = [_next_start(run, runs[run.execution]) for run in held]
        # What was started again before the fault had been lost by an earlier one.
        return [
            start.began - fault.begin
            for start in starts
            if start is not None and start.began > fault.begin
            if not (undisturbed and _held_up(fault, start, history))
        ]

    def of(kind: str) -> list[Fault]:
        return [fault for fault in history.faults if fault.kind == kind and fault.target.startswith("executor")]

    return Recovery(
        after_kill=[seconds for fault in of("kill") for seconds in again(fault)],
        undisturbed=[seconds for fault in of("kill") for seconds in again(fault, undisturbed=True)],
        after_freeze=[seconds for fault in of("freeze") for seconds in again(fault)],
        after_wipe=_lateness(history),
        after_term=[
            seconds - history.timing.stop_grace for fault in of("term") for seconds in again(fault, undisturbed=True)
        ],
        finished_at_term=sum(
            run.ended is not None and run.began <= fault.begin < run.ended
            for fault in of("term")
            for run in by_pid[fault.pid or 0]
        ),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed; 0 when there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _ended_by(run: Run, fault: Fault) -> bool:
    """Whether the run was over when the fault began, or ended well in spite of a SIGTERM."""
    return run.ended is not None and (run.ended <= fault.begin or fault.kind == "term")


def _next_start(run: Run, others: list[Run]) -> Run | None:
    return min((other for other in others if other.attempt > run.attempt), key=lambda other: other.began, default=None)


def _held_up(fault: Fault, start: Run, history: History) -> bool:
    """Whether a second fault stood in the way: a server was down, the executor that started it again was frozen with
    the message in hand, or there was no recoverer to see that the lease had ended."""
    lost_at = fault.begin + history.timing.lease - LAST_BEAT
    return any(
        one.begin <= start.began and one.end >= fault.begin
        for one in history.faults
        if one.kind in OUTAGES or (one.kind == "freeze" and one.pid == start.pid)
    ) or any(lost_at <= moment <= start.began for moment in _without_recoverers(history.faults))


def _without_recoverers(faults: Sequence[Fault]) -> list[float]:
    """Moments at which the last recoverer that still worked ceased to."""
    out: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in faults:
        if one.target.startswith("recoverer"):
            if one.kind in ("kill", "term"):
                out[one.target].append((one.begin, one.begin + STARTING))
            elif one.kind == "freeze" or one.server == "database":
                out[one.target].append((one.begin, one.end))
    return [
        begin
        for times in out.values()
        for begin, _ in times
        if len(out) > 1 and all(any(b <= begin <= e for b, e in theirs) for theirs in out.values())
    ]


def _lateness(history: History) -> list[float]:
    """How late due times were recorded: what comes after is the executors' business, not the index's."""
    wipes = [fault.begin for fault in history.faults if fault.kind == "redis_flush"]
    return [
        row.recorded_at - row.due_at
        for row in history.executions
        if any(wipe <= row.due_at <= wipe + AFTER_A_WIPE for wipe in wipes)
    ]
