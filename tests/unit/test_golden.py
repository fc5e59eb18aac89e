"""Schedules answer what they answered before."""

import pytest

from tests.golden.entries import RUNS, Entry, corpus

SLICES = 4  # so that several workers can share them


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return corpus()


@pytest.mark.parametrize("part", range(SLICES))
def test_no_schedule_has_moved(part: int, entries: list[Entry]) -> None:
    # The first and the last run of each; all twenty are checked by `python -m tests.golden check`.
    moved = [line for entry in entries[part::SLICES] if (line := entry.moved((0, RUNS - 1))) is not None]

    assert not moved, (
        f"{len(moved)} schedules have moved, among them:\n"
        + "\n".join(moved[:10])
        + "\nIf that is meant, take it over with: python -m tests.golden write"
    )


def test_the_corpus_is_worth_its_name(entries: list[Entry]) -> None:
    assert len(entries) >= 5000
    assert {len(entry.runs) for entry in entries} == {RUNS}
    assert len({(entry.expression, entry.zone, entry.start) for entry in entries}) >= 5000
    assert len({entry.zone for entry in entries}) > 400
    assert len({entry.expression for entry in entries}) > 500


def test_an_entry_is_read_as_it_was_written(entries: list[Entry]) -> None:
    assert all(Entry.read(entry.write()) == entry for entry in entries[::50])


def test_a_schedule_that_has_moved_is_named(entries: list[Entry]) -> None:
    entry = next(entry for entry in entries if entry.expression == "30 2 * * *")
    other = Entry("31 2 * * *", entry.zone, None, entry.on_gap, entry.on_repeat, entry.start, entry.runs)

    message = other.moved((0,))

    assert entry.moved(range(RUNS)) is None
    assert message is not None
    assert f"'31 2 * * *' in {entry.zone}, asked from " in message
