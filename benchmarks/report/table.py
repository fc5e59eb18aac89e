"""The table of a run: a line for each figure, with what has to be known to read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks.report.headline import Results, at, fastest_peer, headline

UNKNOWN = "not measured"


class Line(NamedTuple):
    figure: str
    value: str
    note: str = ""


HEAD = Line("figure", "value", "how to read it")


def lines(results: Results) -> list[Line]:
    return [
        *_size(results),
        *_own(results),
        *_ratios(results),
        *_peers(results),
        *_processors(results),
        *_failures(results),
    ]


def as_text(table: Sequence[Line]) -> str:
    table = [HEAD, *table]
    wide = [max(len(line[place]) for line in table) for place in (0, 1)]
    return "\n".join(f"{one.figure:<{wide[0]}}  {one.value:>{wide[1]}}  {one.note}".rstrip() for one in table)


def as_markdown(table: Sequence[Line]) -> str:
    rows = [HEAD, Line("---", "---:", "---"), *table]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _size(results: Results) -> Iterator[Line]:
    if at(results, "run", "quick"):
        yield Line("QUICK RUN", "", "small sizes, also where a figure's name says otherwise: it works, no more")


def _own(results: Results) -> Iterator[Line]:
    ours, steady, web = (at(results, *path) or {} for path in (("contest", "ours"), ("steady",), ("web",)))
    yield Line(
        "executions a second",
        number(ours.get("executions_per_s")),
        f"{ours.get('executors')} executors, 1 poller, {number(ours.get('jobs'))} jobs due at once, "
        f"{number(ours.get('history'))} in the history; rounds {told(ours.get('rounds'))}",
    )
    yield Line(
        "burst, until all are started",
        number(at(results, "contest", "burst", "all_started_s"), "s"),
        f"{number(at(results, 'contest', 'burst', 'jobs'))} jobs due at one instant",
    )
    yield Line(
        "lone job, due to started, median",
        number(at(results, "lone", "p50_ms"), "ms"),
        f"{at(results, 'lone', 'jobs')} jobs on an idle system; at most {number(at(results, 'lone', 'max_ms'), 'ms')}",
    )
    yield Line(
        "lateness, 99 of 100",
        number(steady.get("p99_s"), "s"),
        f"{number(steady.get('per_s'))} a second for {steady.get('seconds')} s; "
        f"median {number(steady.get('p50_s'), 's')}, at most {number(steady.get('max_s'), 's')}",
    )
    yield Line(
        "recurring schedules started a second",
        number(at(results, "schedules", "started_per_s")),
        f"{number(at(results, 'schedules', 'schedules'))} due at one instant",
    )
    for name in ("few", "many"):
        poll = at(results, "polling", name) or {}
        note = f"500 due, {number(poll.get('stored'))} stored that are not; median"
        yield Line("a poller's round", number(poll.get("ms"), "ms"), note)
    yield Line("jobs a second by POST", number(web.get("post_jobs_per_s")), f"{web.get('clients')} clients")
    yield Line(
        "jobs a second in bulk", number(web.get("bulk_create_per_s")), web.get("note", "1,000 a call, one client")
    )
    for executors, reached in (at(results, "curve", "executions_per_s") or {}).items():
        yield Line(f"executions a second, {executors} executor(s)", number(reached), "one round")


def _ratios(results: Results) -> Iterator[Line]:
    figures, bare = headline(results), at(results, "contest", "bare") or {}
    beat = at(results, "schedules", "beat") or {}
    yield Line(
        "ours / bare pipeline",
        number(figures["vs_bare_pipeline"]),
        f"bare: {number(bare.get('executions_per_s'))} a second with {bare.get('executing')} executing; "
        + "; ".join(f"{count}: {told(rounds)}" for count, rounds in (bare.get("tried") or {}).items()),
    )
    yield Line(
        "ours / Celery with history", number(figures["vs_celery_with_history"]), "the better of Celery's two figures"
    )
    yield Line(
        "ours / fastest peer without history",
        number(figures["vs_fastest_peer"]),
        f"{fastest_peer(results).get('peer', 'none')}, end to end: enqueueing counts, as recording does for us",
    )
    yield Line(
        "schedules, ours / beat",
        number(figures["schedules_vs_beat"]),
        beat.get("error") or f"beat sent {number(beat.get('dispatched_per_s'))} a second; ours counts until started",
    )


def _peers(results: Results) -> Iterator[Line]:
    for name, peer in (at(results, "contest", "peers") or {}).items():
        if "error" in peer:
            yield Line(name, UNKNOWN, peer["error"].splitlines()[0])
            continue
        note = f"end to end; drain of a full queue {number(peer['drain_per_s'])}; version {peer['version']}"
        kept = "keeps history" if peer["keeps_history"] else "keeps no history"
        yield Line(f"{name}, tasks a second", number(peer["end_to_end_per_s"]), f"{note}; {kept}")


def _processors(results: Results) -> Iterator[Line]:
    for name, title in (("ours", "ours"), ("bare", "bare pipeline")):
        spent = at(results, "contest", name, "cpu_us") or {}
        each = ", ".join(f"{kind} {microseconds:.0f}" for kind, microseconds in spent.items())
        yield Line(f"CPU an execution, {title}", number(sum(spent.values()) or None, "µs"), each)


def _failures(results: Results) -> Iterator[Line]:
    for name, told_ in results.items():
        if isinstance(told_, dict) and "error" in told_:
            yield Line(f"{name} FAILED", UNKNOWN, told_["error"].splitlines()[0])


def number(value: float | None, unit: str = "") -> str:
    if value is None:
        return UNKNOWN
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"
    return f"{text} {unit}".strip()


def told(rounds: list[Any] | None) -> str:
    return ", ".join(f"{one:,}" for one in rounds or []) or "none"
