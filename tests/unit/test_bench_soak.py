"""The soak tells what grows, leaves nothing running, and what it found last is what the pages say."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from benchmarks.fleet import ProcessEnded
from benchmarks.soak import beside, grown

LOOKS = 30
FLAT: dict[str, Any] = {
    "mb": {"poller": [100.0] * LOOKS, "web": [130.0] * LOOKS},
    "p99_s": [0.04] * LOOKS,
    "executions": [150_000] * LOOKS,
    "jobs": [150_000] * LOOKS,
    "table_mb": [90.0] * LOOKS,
}


def rising(start: float, end: float) -> list[float]:
    return [start + (end - start) * look / (LOOKS - 1) for look in range(LOOKS)]


def test_a_look_that_fails_ends_the_simulation() -> None:
    with pytest.raises(ProcessEnded), beside(os.environ, "-c", "import signal; signal.pause()") as simulation:
        raise ProcessEnded("the poller")

    assert simulation.returncode == -signal.SIGKILL


def test_what_stays_where_it_is_has_not_grown() -> None:
    assert grown(FLAT) == []
    assert (
        grown(FLAT | {"jobs": [5_000 * min(look, 10) for look in range(LOOKS)]}) == []
    )  # nor what came up to its size


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("memory of the web", {"mb": FLAT["mb"] | {"web": rising(130, 145)}}),
        ("executions", {"executions": rising(100_000, 200_000)}),
        ("jobs", {"jobs": rising(100_000, 200_000)}),
        ("table_mb", {"table_mb": rising(60, 200)}),
        ("p99_s", {"p99_s": rising(0.04, 2)}),
    ],
)
def test_what_grows_is_told_by_its_name(name: str, changed: dict[str, Any]) -> None:
    [told] = grown(FLAT | changed)

    assert told.startswith(f"{name}: ")


def test_in_the_last_half_hour_that_was_measured_nothing_grew() -> None:
    kept = json.loads(Path(settings.BASE_DIR, "benchmarks/results/soak.json").read_text())["soak"]

    assert kept["at_s"][-1] >= 30 * 60 and kept["per_s"] == 500
    assert grown(kept) == []
