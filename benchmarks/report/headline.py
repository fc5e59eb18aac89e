"""The figures of a run in one object, the last line that it prints: a name each, and null for what was not measured."""

from __future__ import annotations

from typing import Any

Results = dict[str, Any]  # what each measurement told, by its name


def headline(results: Results) -> dict[str, float | None]:
    executions = at(results, "contest", "ours", "executions_per_s")
    return {
        "executions_per_s": executions,
        "lone_latency_p50_ms": at(results, "lone", "p50_ms"),
        "lateness_p99_s_at_1000_per_s": at(results, "steady", "p99_s"),
        "burst_10k_all_started_s": at(results, "contest", "burst", "all_started_s"),
        "vs_bare_pipeline": ratio(executions, at(results, "contest", "bare", "executions_per_s")),
        "vs_celery_with_history": ratio(executions, at(results, "contest", "peers", "celery_history", "per_s")),
        "vs_fastest_peer": ratio(executions, at(fastest_peer(results), "end_to_end_per_s")),
        "schedules_vs_beat": ratio(
            at(results, "schedules", "started_per_s"), at(results, "schedules", "beat", "dispatched_per_s")
        ),
        "poll_ms_1k_jobs": at(results, "polling", "few", "ms"),
        "poll_ms_1m_jobs": at(results, "polling", "many", "ms"),
        "bulk_create_per_s": at(results, "web", "bulk_create_per_s"),
        "post_jobs_per_s": at(results, "web", "post_jobs_per_s"),
        "executions_per_s_database": at(results, "database", "executions_per_s"),
    }


def fastest_peer(results: Results) -> dict[str, Any]:
    """The peer that keeps no history and completes most from the first enqueueing on; empty without peers."""
    peers = (at(results, "contest", "peers") or {}).values()
    rivals = [peer for peer in peers if not peer["keeps_history"] and "end_to_end_per_s" in peer]
    return max(rivals, key=lambda peer: peer["end_to_end_per_s"], default={})


def at(results: Any, *path: str) -> Any:
    """What lies there, or None where the way ends: a measurement that failed has left no figures."""
    for name in path:
        results = results.get(name) if isinstance(results, dict) else None
    return results


def ratio(ours: float | None, theirs: float | None) -> float | None:
    return round(ours / theirs, 2) if ours and theirs else None
