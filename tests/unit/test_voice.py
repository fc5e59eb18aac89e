"""What one attempt may say is bounded, and what it says can be stored."""

from __future__ import annotations

import pytest
from django.utils import timezone

from execution.voice import LONGEST_LINE, LONGEST_MESSAGE, Bounds, Line, Step, Voice, Words


class Ear:
    def __init__(self, lines: int = 100, size: int = 10_000) -> None:
        self.heard: list[Words] = []
        self.voice = Voice(self.heard.append, timezone.now, Bounds(lines, size))

    @property
    def lines(self) -> list[str]:
        return [words.text for words in self.heard if isinstance(words, Line)]

    @property
    def steps(self) -> list[float]:
        return [words.fraction for words in self.heard if isinstance(words, Step)]


def test_one_line_said_twice_is_two_lines() -> None:
    ear = Ear()

    for _ in range(2):
        ear.voice.log("Again", "info")

    assert ear.lines == ["Again", "Again"]
    assert len({line.number for line in ear.heard}) == 2


def test_lines_beyond_the_bound_are_counted_in_one_last_line() -> None:
    ear = Ear(lines=3)

    for number in range(10):
        ear.voice.log(number, "info")
    ear.voice.finish()

    assert ear.lines[:3] == ["0", "1", "2"]
    [last] = ear.lines[3:]
    assert last.startswith("7 more line(s) were dropped: of one attempt, at most 3 lines")


def test_bytes_are_bounded_too_and_counted_as_stored() -> None:
    ear = Ear(size=100)

    ear.voice.log("é" * 40, "info")
    ear.voice.log("é" * 40, "info")
    ear.voice.log("short", "info")
    ear.voice.finish()

    assert ear.lines[:2] == ["é" * 40, "short"]
    assert ear.lines[2].startswith("1 more line(s)")


def test_nothing_is_said_at_the_end_of_those_who_kept_within_bounds() -> None:
    ear = Ear()

    ear.voice.log("Only this", "info")
    ear.voice.finish()

    assert ear.lines == ["Only this"]


def test_text_that_no_database_keeps_is_made_such() -> None:
    ear = Ear()

    ear.voice.log("nul \x00 and half \ud800", "info")
    ear.voice.progress(0.5, "nul \x00")

    assert ear.lines == ["nul \\x00 and half \\ud800"]
    assert ear.heard[1].message == "nul \\x00"


def test_long_lines_and_messages_are_cut_where_one_can_see_it() -> None:
    ear = Ear(size=10**6)

    ear.voice.log("x" * 10**5, "info")
    ear.voice.progress(0.1, "y" * 10**5)

    assert len(ear.lines[0]) == LONGEST_LINE and ear.lines[0].endswith("x…")
    assert len(ear.heard[1].message) == LONGEST_MESSAGE


def test_anything_can_be_logged_at_a_known_level() -> None:
    ear = Ear()

    ear.voice.log({"answer": 42}, "debug")

    assert ear.lines == ["{'answer': 42}"]
    with pytest.raises(ValueError, match=r"'loud' is no level\. Choose one of debug, info, warning, error"):
        ear.voice.log("Hey", "loud")


@pytest.mark.parametrize("fraction", [-0.1, 1.1, 40, float("nan"), float("inf")])
def test_progress_is_a_part_of_one(fraction) -> None:
    with pytest.raises(ValueError, match=r"Say which part is done, such as 0\.4"):
        Ear().voice.progress(fraction, "")


def test_sums_of_parts_may_be_off_by_what_floats_are() -> None:
    ear = Ear()

    ear.voice.progress(1.0000000000000002, "")

    assert ear.steps == [1.0]


def test_of_a_thousand_steps_in_a_moment_the_first_and_the_last_are_heard() -> None:
    ear = Ear()

    for number in range(1001):
        ear.voice.progress(number / 1000, "")
    ear.voice.finish()

    assert ear.steps[0] == 0 and ear.steps[-1] == 1
    assert len(ear.steps) < 1000
    assert [step.number for step in ear.heard] == sorted(step.number for step in ear.heard)


def test_what_was_held_back_is_said_by_whoever_looks_later() -> None:
    ear = Ear()
    ear.voice.progress(0.1, "")
    ear.voice.progress(0.2, "")
    assert ear.steps == [0.1]

    ear.voice._may_say_at = 0.0  # a moment has passed
    ear.voice.catch_up()
    ear.voice.catch_up()

    assert ear.steps == [0.1, 0.2]
