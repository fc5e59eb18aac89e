"""A number in an address has one spelling."""

from __future__ import annotations

import pytest

from jobs.numbers import MAX_DIGITS, read_whole_number


@pytest.mark.parametrize("number", [0, 1, 9, 10, 200, 10**MAX_DIGITS - 1])
def test_a_number_is_read_as_it_is_written(number) -> None:
    assert read_whole_number(str(number)) == number


@pytest.mark.parametrize(
    "text",
    [
        *("", "00", "01", "0000000001000", "-1", "+1", " 1", "1 ", "1\n", "1_0", "1.0", "1e3", "0x1"),
        *("１０", "²", "٣", "abc", "9" * (MAX_DIGITS + 1), "9" * 5000, "\x00", "1\x00"),
    ],
)
def test_any_other_spelling_is_not_a_number(text) -> None:
    assert read_whole_number(text) is None
