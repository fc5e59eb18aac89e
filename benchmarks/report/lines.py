"""What each measurement puts into the table: a line for each figure, with what has to be known to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.report import further
from benchmarks.report.headline import Results, fastest_peer, headline
from benchmarks.report.table import UNKNOWN, Line, number


def lines(results: Results) -> list[Line]:
    """Those of the measurements that were made; one that failed tells why."""
    return [line for name, told in results.items() for line in _of(name, told, results)]


def _of(name: str, told: dict[str, Any], results: Results) -> Iterator[Line]:
    if "error" in told:
        yield Line(f"{name} FAILED", UNKNOWN, told["error"].splitlines()[0])
    else:
        yield from LINES[name](told, results)


def _run(run: dict[str, Any], results: Results) -> Iterator[Line]:
    if run["quick"]:
        yield Line("QUICK RUN", "", "small sizes, also where a figure's name says otherwise: it works, no more")


def _lone(lone: dict[str, Any], results: Results) -> Iterator[Line]:
    note = f"{lone['jobs']} jobs, an idle system; at most {number(lone['max_ms'], 'ms')}"
    yield Line("lone job, due to started, median", number(lone["p50_ms"], "ms"), note)


def _steady(steady: dict[str, Any], results: Results) -> Iterator[Line]:
    load = f"{number(steady['per_s'])} a second for {steady['seconds']} s"
    note = f"{load}; median {number(steady['p50_s'], 's')}, at most {number(steady['max_s'], 's')}"
    yield Line("lateness, 99 of 100", number(steady["p99_s"], "s"), note)


def _schedules(schedules: dict[str, Any], results: Results) -> Iterator[Line]:
    beat = schedules["beat"]
    note = f"{number(schedules['schedules'])} due at one instant"
    yield Line("recurring schedules started a second", number(schedules["started_per_s"]), note)
    against = (
        beat.get("error") or f"beat sends {number(beat['dispatched_per_s'])} a second; ours are not sent but started"
    )
    yield Line("… / django-celery-beat", number(headline(results)["schedules_vs_beat"]), against.splitlines()[0])


def _contest(contest: dict[str, Any], results: Results) -> Iterator[Line]:
    ours, bare, burst, figures = contest["ours"], contest["bare"], contest["burst"], headline(results)
    note = f"{ours['crew']}, {number(ours['jobs'])} jobs due at once, {number(ours['history'])} in the history; "
    yield Line("executions a second", number(ours["executions_per_s"]), note + _tried(ours["tried"]))
    note = f"{number(bare['executions_per_s'])} a second with {bare['crew']}; "
    yield Line("… / bare pipeline", number(figures["vs_bare_pipeline"]), note + _tried(bare["tried"]))
    yield Line(
        "… / Celery with history", number(figures["vs_celery_with_history"]), "the better of Celery's two figures"
    )
    note = f"{fastest_peer(results).get('peer', 'none')}, end to end: enqueueing counts, as recording does for us"
    yield Line("… / fastest peer without history", number(figures["vs_fastest_peer"]), note)
    for name, peer in contest["peers"].items():
        yield _peer(name, peer)
    note = f"{number(burst['jobs'])} jobs due at one instant"
    yield Line("burst, until the last one is started", number(burst["all_started_s"], "s"), note)
    for title, spent in (("ours", ours["cpu_us"]), ("bare pipeline", bare["cpu_us"])):
        each = ", ".join(f"{kind} {microseconds:.0f}" for kind, microseconds in spent.items())
        yield Line(f"CPU an execution, {title}", number(sum(spent.values()), "µs"), each)


def _tried(tried: dict[str, list[int]]) -> str:
    return "rounds: " + "; ".join(f"{crew} {_rounds(rounds)}" for crew, rounds in tried.items())


def _peer(name: str, peer: dict[str, Any]) -> Line:
    if "error" in peer:
        return Line(name, UNKNOWN, peer["error"].splitlines()[0])
    kept = "keeps history" if peer["keeps_history"] else "keeps no history"
    note = f"end to end; drain of a full queue {number(peer['drain_per_s'])}; {kept}; version {peer['version']}"
    return Line(f"{name}, tasks a second", number(peer["end_to_end_per_s"]), note)


def _curve(curve: dict[str, Any], results: Results) -> Iterator[Line]:
    for executors, reached in curve["executions_per_s"].items():
        yield Line(f"executions a second, {executors} executor(s)", number(reached), "one round")


def _polling(polling: dict[str, Any], results: Results) -> Iterator[Line]:
    for poll in polling.values():
        note = f"500 due, {number(poll['stored'])} stored that are not; median"
        yield Line("a poller's round", number(poll["ms"], "ms"), note)


def _web(web: dict[str, Any], results: Results) -> Iterator[Line]:
    yield Line("jobs a second by POST", number(web["post_jobs_per_s"]), f"{web['clients']} clients, one job a request")
    yield Line(
        "jobs a second in bulk", number(web["bulk_create_per_s"]), web.get("note", "one client, 1,000 jobs a request")
    )


def _database(database: dict[str, Any], results: Results) -> Iterator[Line]:
    note = f"no Redis, no RabbitMQ; {database['executors']} executors, {database['pollers']} poller(s), "
    note += f"{number(database['jobs'])} jobs due at "
    note += f"once, {number(database['history'])} in the history; rounds: {_rounds(database['rounds'])}"
    yield Line("executions a second, PostgreSQL alone", number(database["executions_per_s"]), note)
    each = ", ".join(f"{kind} {microseconds:.0f}" for kind, microseconds in database["cpu_us"].items())
    spent = sum(database["cpu_us"].values())
    yield Line("CPU an execution, PostgreSQL alone", number(spent, "µs"), each)


def _rounds(rounds: list[int]) -> str:
    return ", ".join(f"{one:,}" for one in rounds)


LINES: dict[str, Callable[[dict[str, Any], Results], Iterator[Line]]] = {
    "run": _run,
    "lone": _lone,
    "steady": _steady,
    "schedules": _schedules,
    "contest": _contest,
    "curve": _curve,
    "polling": _polling,
    "web": _web,
    "database": _database,
    "history": further.history_lines,
    "memory": further.memory_lines,
    "soak": further.soak_lines,
    "plans": further.plans_lines,
    "slots": further.slots_lines,
    "partitions": further.partitions_lines,
}
