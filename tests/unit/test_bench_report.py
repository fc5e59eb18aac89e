"""What a run of the benchmarks tells, with made-up figures: nothing is measured here."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from benchmarks import everything
from benchmarks.keeping import keep, kept
from benchmarks.report.further import slope
from benchmarks.report.headline import headline
from benchmarks.report.lines import lines
from benchmarks.report.page import BEGIN, END, NoPlace, begin, filled
from benchmarks.report.pictures import pictures
from benchmarks.report.svg import Bar, Point, bar_chart, curves_chart, line_chart
from benchmarks.report.table import as_markdown, as_text
from benchmarks.starts import percentile

SVG = "{http://www.w3.org/2000/svg}"


def peer(name: str, *, end_to_end: float, drain: float, history: bool) -> dict[str, Any]:
    figures = {"per_s": max(end_to_end, drain), "end_to_end_per_s": end_to_end, "drain_per_s": drain}
    return {"peer": name, "version": "1.2", "jobs": 100, "keeps_history": history, **figures}


RESULTS: dict[str, Any] = {
    "run": {"date": "2026-01-02", "quick": False, "rounds": 3, "cores": 2, "python": "3.11.2", "minutes": 10.5},
    "lone": {"jobs": 40, "p50_ms": 60.5, "max_ms": 120.0},
    "steady": {"per_s": 1000, "seconds": 20, "p50_s": 0.07, "p90_s": 0.1, "p99_s": 0.15, "max_s": 0.2},
    "schedules": {"schedules": 10_000, "started_per_s": 4000.0, "beat": {"dispatched_per_s": 200.0}},
    "contest": {
        "ours": {
            "executions_per_s": 5000.0,
            "rounds": [4900, 5000, 5100],
            "all_started_s": 3.9,
            "cpu_us": {"PostgreSQL": 200.0, "executor": 100.0},
            "jobs": 20_000,
            "crew": "2 polling and 1 executing",
            "tried": {"2 polling and 1 executing": [4900, 5000, 5100], "2 polling and 2 executing": [4800]},
            "history": 200_000,
        },
        "bare": {
            "executions_per_s": 6250.0,
            "rounds": [6250],
            "all_started_s": 3.0,
            "cpu_us": {"PostgreSQL": 200.0, "bare pipeline": 60.0},
            "crew": "1 polling and 2 executing",
            "tried": {"1 polling and 1 executing": [6000], "1 polling and 2 executing": [6250]},
        },
        "burst": {"jobs": 10_000, "all_started_s": 1.9},
        "peers": {
            "celery_history": peer("celery_history", end_to_end=200.0, drain=250.0, history=True),
            "dramatiq": peer("dramatiq", end_to_end=2500.0, drain=6000.0, history=False),
            "huey": peer("huey", end_to_end=2000.0, drain=8000.0, history=False),
            "procrastinate": {
                "peer": "procrastinate",
                "keeps_history": True,
                "error": "It is not installed.\nSee there.",
            },
        },
    },
    "curve": {"executions_per_s": {"1": 4000.0, "2": 5000.0, "4": 5500.0}},
    "polling": {"few": {"stored": 1000, "ms": 40.0}, "many": {"stored": 1_000_000, "ms": 44.0}},
    "database": {
        "executions_per_s": 4100.0,
        "rounds": [4000, 4100, 4200],
        "all_started_s": 4.5,
        "cpu_us": {"PostgreSQL": 150.0, "executor": 60.0},
        "jobs": 20_000,
        "executors": 2,
        "pollers": 2,
        "history": 200_000,
    },
    "web": {"clients": 4, "post_jobs_per_s": 300.0, "bulk_create_per_s": None, "note": "there is no such route"},
}
RUN: dict[str, Any] = RESULTS["run"]
HISTORY: dict[str, Any] = {
    "few": {"stored": 100_000, "ms": {"a claim": 40.0, "a page": 2.0}},
    "many": {"stored": 10_000_000, "ms": {"a claim": 44.0, "a page": 80.0}},
}
MEMORY: dict[str, Any] = {
    "per_s": 1000,
    "executed": 700_000,
    "at_s": [0.0, 60.0, 120.0],
    "mb": {"poller": [80.0, 82.0, 84.0], "web": [90.0, 90.0, 90.0]},
}
SOAK: dict[str, Any] = {
    "per_s": 500,
    "kept_s": 300,
    "autovacuum": "on",
    "at_s": [60.0, 120.0, 180.0, 240.0],
    "mb": {"poller": [60.0, 80.0, 80.0, 80.0], "web": [90.0, 90.0, 90.0, 95.0]},
    "started": [30_000, 30_000, 30_000, 30_000],
    "p50_s": [0.02, 0.02, 0.02, 0.02],
    "p99_s": [0.09, 0.08, 0.08, 0.07],
    "executions": [30_000, 60_000, 150_000, 151_000],
    "jobs": [30_000, 60_000, 150_000, 151_000],
    "table_mb": [40.0, 80.0, 200.0, 210.0],
}
PLANS: dict[str, Any] = {
    "stored": 50_000,
    "plans": [
        {"act": "a claim", "place": "claim", "statement": "UPDATE x", "plan": "Index Scan", "ms": 1.5, "scanned": []},
        {"act": "a page", "place": "page", "statement": "SELECT x", "plan": "Seq Scan", "ms": 9.0, "scanned": ["x"]},
    ],
}
SLOTS: dict[str, Any] = {
    "stored": 1000,
    "batch": 100,
    "slots": {
        "1": {"put": 1.5, "lease": 2.5, "settle": 3.5, "redis": 1.25, "idle_poll": 80.0},
        "8": {"put": 1.6, "lease": 2.6, "settle": 3.6, "redis": 1.35, "idle_poll": 320.0},
    },
}
PARTITIONS: dict[str, Any] = {
    "stored": 1000,
    "kinds": {
        "plain": {"ms": {"a claim": 20.0}, "wal_bytes": 2000, "bytes_a_row": 500, "partitions": 0},
        "partitioned": {"ms": {"a claim": 22.0}, "wal_bytes": 2100, "bytes_a_row": 510, "partitions": 12},
    },
    "forget": {
        "plain": {"rows": 900, "seconds": 0.9, "us_a_row": 1000.0, "wal_bytes_a_row": 300.0},
        "partitioned": {"rows": 850, "seconds": 0.01, "us_a_row": 11.8, "wal_bytes_a_row": 5.0},
    },
}
FURTHER_RESULTS: dict[str, Any] = {
    "run": RUN,
    "history": HISTORY,
    "memory": MEMORY,
    "soak": SOAK,
    "plans": PLANS,
    "slots": SLOTS,
    "partitions": PARTITIONS,
}


def test_the_last_line_has_every_figure_by_its_name() -> None:
    assert headline(RESULTS) == {
        "executions_per_s": 5000.0,
        "lone_latency_p50_ms": 60.5,
        "lateness_p99_s_at_1000_per_s": 0.15,
        "burst_10k_all_started_s": 1.9,
        "vs_bare_pipeline": 0.8,
        "vs_celery_with_history": 20.0,
        "vs_fastest_peer": 2.0,  # the fastest end to end, not the fastest to drain
        "schedules_vs_beat": 20.0,
        "poll_ms_1k_jobs": 40.0,
        "poll_ms_1m_jobs": 44.0,
        "bulk_create_per_s": None,
        "post_jobs_per_s": 300.0,
        "executions_per_s_database": 4100.0,
    }


def test_a_measurement_that_failed_costs_its_own_figures_only() -> None:
    results = RESULTS | {"contest": {"error": "TimeoutError: 3 of 10 were not completed.\nMore."}}

    figures = headline(results)

    assert figures.keys() == headline(RESULTS).keys()
    assert figures["executions_per_s"] is figures["vs_fastest_peer"] is None
    assert figures["post_jobs_per_s"] == 300.0
    assert "contest FAILED" in as_text(lines(results))
    assert "throughput.svg" not in pictures(results)


def test_a_run_of_nothing_has_the_same_names() -> None:
    assert headline({}).keys() == headline(RESULTS).keys()
    assert set(headline({}).values()) == {None}


def test_the_table_tells_the_drain_apart_and_what_was_not_measured() -> None:
    table = as_text(lines(RESULTS))

    assert "end to end; drain of a full queue 6,000" in table
    assert "there is no such route" in table
    assert "It is not installed." in table


def test_the_page_keeps_the_words_around_the_table() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"

    once = filled(page, RESULTS)

    assert once.startswith("before\n") and once.endswith(f"{END}\nafter\n")
    assert "old" not in once and as_markdown(lines(RESULTS)) in once
    assert filled(once, RESULTS) == once


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(NoPlace, match="put"):
        filled("words", RESULTS)


def test_bars_are_as_long_as_their_numbers_say() -> None:
    drawn = ElementTree.fromstring(bar_chart("A & B", [Bar("<ours>", 10, ours=True), Bar("theirs", 5)], "ms"))

    _, ours, theirs = (float(bar.get("width", 0)) for bar in drawn.iter(f"{SVG}rect"))
    assert ours == 2 * theirs
    assert {"A & B", "<ours>", "10 ms"} <= {text.text for text in drawn.iter(f"{SVG}text")}


def test_a_line_goes_through_every_point() -> None:
    drawn = ElementTree.fromstring(line_chart("t", [Point(1, 100), Point(4, 200)], across="x", up="y"))

    [line] = drawn.iter(f"{SVG}polyline")
    centres = [f"{point.get('cx')},{point.get('cy')}" for point in drawn.iter(f"{SVG}circle")]
    assert line.get("points", "").split() == centres


def test_every_picture_can_be_drawn() -> None:
    drawn = pictures(RESULTS)

    assert drawn.keys() == {"throughput.svg", "executors.svg", "processors.svg", "polling.svg"}
    further = pictures(FURTHER_RESULTS)
    assert further.keys() == {"history.svg", "memory.svg", "soak.svg"}
    for text in (drawn | further).values():
        ElementTree.fromstring(text)


def test_pictures_of_nothing_are_not_made() -> None:
    assert pictures({}) == {}
    ElementTree.fromstring(bar_chart("nothing", []))


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = list(range(100, 0, -1))

    assert [percentile(values, share) for share in (0, 0.5, 0.99, 1)] == [1, 50, 99, 100]


def test_what_grows_with_the_history_is_called_so() -> None:
    claim, page = lines({"history": HISTORY})

    assert (claim.value, page.value) == ("1.10 ×", "40.00 ×")
    assert page.note.startswith("GROWS") and not claim.note.startswith("GROWS")


def test_memory_is_told_as_growth_a_minute() -> None:
    poller, web = lines({"memory": MEMORY})

    assert (poller.value, web.value) == ("+2.00 MB a minute", "+0.00 MB a minute")
    assert slope([1.0], [5.0]) == 0


def test_half_an_hour_tells_growth_of_its_second_half_and_the_worst_lateness_of_its_ends() -> None:
    started, late, poller, web, kept = lines({"soak": SOAK})

    assert (started.value, late.value) == ("120,000", "0.070 s") and "0.090 s" in late.note
    assert (poller.value, web.value) == ("+0.00 MB a minute", "+5.00 MB a minute")
    assert kept.value == "151,000" and "150,000 after 3 minutes" in kept.note


def test_a_statement_that_reads_a_whole_table_is_named() -> None:
    explained, scans = lines({"plans": PLANS})

    assert explained.value == "2"
    assert scans.value == "1" and "a page: page" in scans.note


def test_curves_end_with_their_names() -> None:
    curves = {"one": [Point(0, 5), Point(2, 6)], "two": [Point(0, 6), Point(2, 6)]}
    drawn = ElementTree.fromstring(curves_chart("t", curves, across="x", up="y"))

    assert len(list(drawn.iter(f"{SVG}polyline"))) == 2
    heights = [float(text.get("y", 0)) for text in drawn.iter(f"{SVG}text") if (text.text or "").endswith(": 6")]
    assert len(heights) == 2 and abs(heights[0] - heights[1]) >= 16


def test_further_measurements_are_kept_by_themselves(tmp_path: Path) -> None:
    keep(FURTHER_RESULTS, tmp_path)

    assert kept("memory.json", tmp_path) == {"run": RUN, "memory": MEMORY}
    assert "Seq Scan" in (tmp_path / "plans.md").read_text() and (tmp_path / "memory.svg").exists()
    assert kept("latest.json", tmp_path) is None and not (tmp_path / "partial").exists()


def test_what_is_no_full_run_is_kept_apart(tmp_path: Path) -> None:
    keep({"run": RUN, "web": RESULTS["web"]}, tmp_path)
    keep({"run": RUN | {"quick": True}, "memory": MEMORY}, tmp_path)
    keep({"run": RUN, "history": {"error": "It failed."}}, tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["partial"]
    keep(RESULTS, tmp_path)
    assert kept("latest.json", tmp_path) is not None
    assert RESULTS.keys() - {"run"} == everything.USUAL.keys()


def test_a_further_table_has_a_place_of_its_own() -> None:
    page = f"{BEGIN}\n{END}\n{begin('memory')}\n{END}\n"

    both = filled(filled(page, RESULTS), {"run": RUN, "memory": MEMORY}, begin("memory"), ["memory.svg"])

    assert "(../benchmarks/results/memory.svg)" in both
    assert both.index("executions a second") < both.index(begin("memory")) < both.index("memory of the poller")


def test_slots_are_told_beside_the_one() -> None:
    *_, idle = lines({"slots": SLOTS})

    assert idle.value == "80.0 µs" and "320 µs with 8" in idle.note


def test_partitions_are_told_beside_the_one_table() -> None:
    claim, log, disk, deleted, dropped = lines({"partitions": PARTITIONS})

    assert claim.value == "1.10 ×" and "12 partitions" in claim.note
    assert (log.value, disk.value) == ("2,000 bytes", "500 bytes")
    assert deleted.value == "1,000 µs" and dropped.value == "11.8 µs" and "850 in" in dropped.note
