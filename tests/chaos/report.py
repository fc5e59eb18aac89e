"""Tells a run's story: a line while it goes on, one at its end, and all that is known of what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.checker import Finding, Verdict
from tests.chaos.history import Fault, History
from tests.chaos.recovery import percentile, recovery

MOST_SHOWN = 5  # findings of a kind told in full
AROUND = 20.0  # seconds of faults shown around a run


def total(seed: int, campaigns: Sequence[tuple[History, Verdict]]) -> str:
    """The last line, over all campaigns of a run."""
    verdicts = [verdict for _, verdict in campaigns]
    restarts = [seconds for history, _ in campaigns for seconds in recovery(history).undisturbed]
    return (
        f"chaos seed={seed} executions={sum(len(history.executions) for history, _ in campaigns)}"
        f" faults={sum(len(_made(history)) for history, _ in campaigns)}"
        f" lost={sum(len(one.lost) for one in verdicts)}"
        f" duplicate_rows={sum(len(one.duplicate_rows) for one in verdicts)}"
        f" stale_writes={sum(len(one.stale_writes) for one in verdicts)}"
        f" unexplained={sum(len(one.unexplained) for one in verdicts)}"
        f" recovery_p99_s={percentile(restarts, 0.99):.1f}"
    )


def figures(history: History) -> list[str]:
    """What else is worth knowing: how much of what, and how long recoveries took."""
    times = recovery(history)
    statuses = Counter(row.status for row in history.executions)
    kinds = Counter(fault.kind for fault in _made(history))
    failed = Counter(f"{fault.kind} {fault.trouble[:100]}" for fault in history.faults if fault.trouble)
    repeated = Counter((run.execution) for run in history.runs if run.what == "completed")
    lines = [
        f"  jobs accepted {len(history.accepted)}"
        f" ({sum(one.via == 'api' for one in history.accepted)} over HTTP), acts {len(history.acts)}",
        f"  executions {_told(statuses)}; handler runs {len(history.runs)},"
        f" repeated effects {sum(count - 1 for count in repeated.values())},"
        f" leases lost {sum(one.outcome != 'FAILED' for one in history.attempts)}",
        f"  faults {_told(kinds)}",
        f"  started again after kill -9 {_spread(times.after_kill)},"
        f" with no second fault in the way {_spread(times.undisturbed)},"
        f" after a freeze {_spread(times.after_freeze)} (lease {history.timing.lease:g} s)",
        f"  after SIGTERM finished {times.finished_at_term}, the rest started again elsewhere"
        f" {_spread(times.after_term)} after the grace time",
        f"  recorded late after Redis was emptied {_spread(times.after_wipe)}",
    ]
    return lines + [f"  not made: {fault} ({count} times)" for fault, count in failed.items()]


def findings(history: History, verdict: Verdict, folder: Path) -> list[str]:
    """What is wrong, each with its history from all sources."""
    lines = []
    shown: Counter[str] = Counter()
    for name, finding in verdict.all():
        shown[name] += 1
        if shown[name] <= MOST_SHOWN:
            lines += [f"{name}: {finding.subject}: {finding.what}", *_story(finding, history)]
    lines += [f"{name}: {count - MOST_SHOWN} more" for name, count in shown.items() if count > MOST_SHOWN]
    return [*lines, f"Everything about this run is kept in {folder}"] if lines else []


def _story(finding: Finding, history: History) -> list[str]:
    """All sources on one execution or job, in the order of time."""
    rows = [row for row in history.executions if finding.subject in (row.id, row.job)]
    ids = {row.id for row in rows[:5]}
    jobs = {row.job for row in rows} | {finding.subject}
    told: list[tuple[float, str]] = []
    told += [(one.at, f"accepted {one.kind} via {one.via}") for one in history.accepted if one.job in jobs]
    told += [(act.asked, f"{act.verb} asked, answered {_clock(act.done)}") for act in history.acts if act.job in jobs]
    for row in rows[:5]:
        told.append((row.due_at, f"due ({row.id}, recorded {_clock(row.recorded_at)})"))
        told.append(
            (
                row.finished_at or row.recorded_at,
                f"row: {row.status} attempt={row.attempt} worker={row.worker} result={row.result}"
                f" wake_at={_clock(row.wake_at)} error={row.error[:80]!r}",
            )
        )
    for one in history.attempts:
        if one.execution in ids:
            told.append((one.finished_at, f"attempt {one.number}: {one.outcome}, worker {one.worker}"))
    for run in history.runs:
        if run.execution in ids:
            told.append((run.began, f"handler: attempt {run.attempt} starts in {run.slot} ({run.pid})"))
            if run.ended:
                told.append((run.ended, f"handler: attempt {run.attempt} {run.what} in {run.slot} ({run.pid})"))
    if told:
        first, last = min(at for at, _ in told) - 2, max(at for at, _ in told) + 2
        told += [
            (fault.begin, f"fault: {fault.kind} {fault.target} {fault.server} pid={fault.pid} to {_clock(fault.end)}")
            for fault in history.faults
            if fault.begin <= last and fault.end >= max(first, last - AROUND)
        ]
    return [f"    {_clock(at)} {text}" for at, text in sorted(told)[:60]]


def _made(history: History) -> list[Fault]:
    return [fault for fault in history.faults if not fault.trouble]


def _clock(at: float | None) -> str:
    """Minutes matter, dates do not."""
    return "-" if at is None else "never" if at == float("inf") else f"{at % 3600:.3f}"


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def _spread(values: list[float]) -> str:
    if not values:
        return "none"
    p50, p99 = (percentile(values, share) for share in (0.5, 0.99))
    return f"p50={p50:.1f} p99={p99:.1f} max={max(values):.1f} s (n={len(values)})"
