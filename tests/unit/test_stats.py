"""The arithmetic behind the dashboard's numbers and pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import uuid4

import pytest

from jobs.dashboard.charts import heat, lines, queues, runs
from jobs.dashboard.charts.scale import count_told, round_up, seconds_told
from jobs.states import Status
from jobs.stats.buckets import Bucket
from jobs.stats.percentiles import percentiles
from jobs.stats.spans import FIVE_MINUTES, HOUR, SPANS
from jobs.stats.unfinished import Line
from scheduling.load import Groups, Window, report_on

NOON = datetime(2026, 11, 18, 12, 0, 7, 500_000, tzinfo=UTC)


def test_percentiles_are_values_that_occurred() -> None:
    assert percentiles(range(1, 101)) == (50, 95, 99)
    assert percentiles([7.0]) == (7.0, 7.0, 7.0)
    assert percentiles([]) is None


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_buckets_begin_at_round_times_and_the_last_has_now_in_it(span) -> None:
    starts = list(span.starts(NOON))

    assert len(starts) == span.buckets
    assert starts[-1] <= NOON < starts[-1] + span.width
    assert {later - earlier for earlier, later in pairwise(starts)} == {span.width}
    assert starts[-1].timestamp() % span.width.total_seconds() == 0


@pytest.mark.parametrize(
    ("value", "end"), [(0, 1), (1, 1), (7, 8), (11, 20), (99, 100), (0.031, 0.04), (12_345, 20_000)]
)
def test_axes_end_with_round_numbers(value: float, end: float) -> None:
    assert round_up(value) == pytest.approx(end)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 ms"), (0.0431, "43.1 ms"), (1.5, "1.5 s"), (200, "3 min 20 s"), (7_320, "2 h 2 min"), (200_000, "2 d 7 h")],
)
def test_lengths_of_time_are_told_as_people_do(seconds: float, told: str) -> None:
    assert seconds_told(seconds) == told


def test_large_counts_are_told_shortly() -> None:
    assert [count_told(n) for n in (0, 9_999, 64_312, 2_500_000)] == ["0", "9,999", "64.3k", "2.5M"]


def test_charts_are_well_formed_without_style_or_script() -> None:
    counts = {Status.COMPLETED: 10_000, Status.FAILED: 1, Status.SKIPPED: 3, Status.RUNNING: 2}
    busy = Bucket(NOON, counts, True, (0.1, 2.0), (1.0, 3.0))
    buckets = [Bucket(NOON), busy, busy, Bucket(NOON), busy]
    drawn = [
        runs.chart(buckets, HOUR),
        lines.chart(buckets, FIVE_MINUTES, "lateness"),
        lines.chart(buckets[:1], HOUR, "durations"),
    ]

    for picture in drawn:
        ElementTree.fromstring(picture)
        assert "style=" not in picture and "<script" not in picture
    assert "10,000 completed" in drawn[0] and "1 failed" in drawn[0]


def test_what_is_under_the_pointer_has_its_instant_for_the_script_and_utc_without_it() -> None:
    noon = NOON.replace(microsecond=0)
    buckets = [Bucket(noon, {Status.COMPLETED: 3})]

    assert tooltips(runs.chart(buckets, HOUR)) == [(noon, f"{NOON:%H:%M} UTC: 3 completed")]
    assert tooltips(runs.chart(buckets, FIVE_MINUTES)) == [(noon, f"{NOON:%H:%M:%S} UTC: 3 completed")]


def tooltips(picture: str) -> list[tuple[datetime, str | None]]:
    titles = ElementTree.fromstring(picture).iter("title")
    return [(datetime.fromtimestamp(int(one.attrib["data-at"]), UTC), one.text) for one in titles]


def test_one_failure_among_thousands_can_be_seen() -> None:
    picture = runs.chart([Bucket(NOON, {Status.COMPLETED: 10_000, Status.FAILED: 1})], HOUR)

    [path] = [one for one in ElementTree.fromstring(picture).iter() if one.get("class") == "failed"]
    assert "v-1.5" in path.get("d", "")


def test_queues_are_parts_of_the_longest() -> None:
    long, short = queues.chart([Line("a", waiting=60, retrying=20, running=20), Line("b", 0, 0, 10)])

    assert (long.running, long.after_running, long.after_retrying, long.waiting) == (20, 20, 40, 60)
    assert short.running == 10


def test_the_coming_day_shows_its_peaks_above_what_always_runs() -> None:
    groups = Groups(Window(NOON, 24))
    due = NOON + timedelta(seconds=3)
    steady = f'{{"type": "interval", "seconds": 3, "start_at": "{due.isoformat()}"}}'
    groups.add(uuid4(), "steady", steady, due=due, runs=0)
    for _ in range(40):
        nightly = '{"type": "cron", "expression": "0 2 * * *", "timezone": "UTC"}'
        groups.add(uuid4(), "nightly", nightly, due=NOON.replace(hour=2) + timedelta(days=1), runs=0)

    picture = heat.chart(report_on(groups))

    levels = {one.get("class"): one.get("d", "") for one in ElementTree.fromstring(f"<p>{picture}</p>").iter("path")}
    assert levels["heat5"].count("M") == 1 and levels["heat1"].count("M") > 250
