"""Which pictures a run makes, by the names of their files."""

from __future__ import annotations

from benchmarks.report.further import growth
from benchmarks.report.headline import Results, at
from benchmarks.report.svg import Bar, Point, bar_chart, curves_chart, line_chart


def pictures(results: Results) -> dict[str, str]:
    """Those that there are figures for."""
    made = {
        "throughput.svg": _throughput(results),
        "executors.svg": _executors(results),
        "processors.svg": _processors(results),
        "polling.svg": _polling(results),
        "history.svg": _history(results),
        "memory.svg": _resident(results, "memory"),
        "soak.svg": _resident(results, "soak"),
    }
    return {name: text for name, text in made.items() if text}


def _throughput(results: Results) -> str:
    ours = at(results, "contest", "ours", "executions_per_s")
    if not ours:
        return ""
    bars = [Bar("ours", ours, ours=True), Bar("bare pipeline", at(results, "contest", "bare", "executions_per_s"))]
    for name, peer in at(results, "contest", "peers").items():
        kept = ", with history" if peer["keeps_history"] and not name.endswith("history") else ""
        for figure, words in (("end_to_end_per_s", "end to end"), ("drain_per_s", "drain")):
            if figure in peer:
                bars.append(Bar(f"{name.replace('_', ' ')}{kept}, {words}", peer[figure]))
    return bar_chart("Executions a second", bars)


def _executors(results: Results) -> str:
    reached = at(results, "curve", "executions_per_s")
    if not reached:
        return ""
    points = [Point(int(executors), rate) for executors, rate in reached.items()]
    return line_chart("What a further executor adds", points, across="executors", up="executions a second")


def _processors(results: Results) -> str:
    bars = [
        Bar(f"{title}: {kind}", microseconds, ours=name == "ours")
        for name, title in (("ours", "ours"), ("bare", "bare"))
        for kind, microseconds in (at(results, "contest", name, "cpu_us") or {}).items()
    ]
    return bar_chart("CPU time an execution", bars, "µs") if bars else ""


def _polling(results: Results) -> str:
    told = [poll for poll in (at(results, "polling", "few"), at(results, "polling", "many")) if poll]
    bars = [Bar(f"{poll['stored']:,} jobs stored", poll["ms"], ours=True) for poll in told]
    return bar_chart("A poller's round that dispatches 500 due jobs", bars, "ms") if bars else ""


def _history(results: Results) -> str:
    few, many = at(results, "history", "few"), at(results, "history", "many")
    if not few or not many:
        return ""
    title = f"{many['stored']:,} executions in the history, times what {few['stored']:,} take"
    return bar_chart(title, [Bar(name, times, ours=True) for name, times in growth(few, many).items()], "×")


def _resident(results: Results, measurement: str) -> str:
    samples = at(results, measurement, "mb")
    if not samples:
        return ""
    minutes = [seconds / 60 for seconds in at(results, measurement, "at_s")]
    curves = {kind: [Point(*place) for place in zip(minutes, mb, strict=True)] for kind, mb in samples.items()}
    return curves_chart("Resident memory by kind of process", curves, across="minutes", up="MB")
