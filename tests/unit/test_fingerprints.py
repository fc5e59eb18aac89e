"""The same mistake has the same fingerprint, whoever it happened to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.fingerprints import LENGTH, LONGEST_KEPT, LONGEST_READ, VARIES, fingerprint, what_is_wrong

SAME = [
    ("TimeoutError: no answer after 30 s", "TimeoutError: no answer after 12.5 s"),
    ("KeyError: 'alice'", "KeyError: 'bob'"),
    ('ValueError: "a b" is no number', 'ValueError: "c" is no number'),
    ("WorkerLost: web-1-4711 has stopped answering", "WorkerLost: node7-99 has stopped answering"),
    ("E: order 3f2504e0-4f89-41d3-9a0c-0305e82c3301 is gone", "E: order 01a1e389-b509-7876-bc9a-f4107a1b7fb7 is gone"),
    ("E: object at 0x7f3a2b1c", "E: object at 0xdeadbeef"),
    ("E: commit deadbeef is unknown", "E: commit cafebabefeed is unknown"),
    ("E: no mailbox alice@example.com.", "E: no mailbox bob+spam@mail.example.org."),
    ("E: rows 1, 2, 3 are locked", "E: rows 17 are locked"),
    ("E: can't open order 5", "E: can't   open\norder 6"),
    ("E: status 12.5 is odd", "E: status 13.75 is odd"),
    ("E: connection to 10.0.0.1:5432 refused", "E: connection to 10.12.0.99:5433 refused"),
]
OTHERS = [
    ("TimeoutError: no answer", "ConnectionError: no answer"),
    ("E: can't open the door", "E: can't close the door"),
    ("HTTPError: answered 404", "HTTPError: answered 503"),
    ("HTTPError: status 404", "HTTPError: status 503"),
    ("GiveUpNow: The target answered 404.", "GiveUpNow: The target answered 410."),
    ("TryAgain: The target answered 502: bad", "TryAgain: The target answered 503: bad"),
    ("E: HTTP 404", "E: HTTP 500"),
    ("E: no mailbox", "E: no mail server"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_differs_from_one_execution_to_the_next_does_not_count(one: str, other: str) -> None:
    assert what_is_wrong(one) == what_is_wrong(other)
    assert fingerprint("t", one) == fingerprint("t", other)


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_another_mistake_is_another_fingerprint(one: str, other: str) -> None:
    assert fingerprint("t", one) != fingerprint("t", other)


def test_the_same_mistake_of_another_task_is_told_apart() -> None:
    assert fingerprint("send_email", "E: no") != fingerprint("http_request", "E: no")


numbers = st.integers(0, 10**20).map(str) | st.uuids().map(str) | st.integers(2**40).map(hex)
quotes = st.sampled_from(["''", '""', "``", "“”", "«»"])
words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=7).filter(
    lambda word: word not in ("http", "smtp", "status", "code", "errno")  # `answered` and `returned` are longer
)


@given(st.lists(words, min_size=2), numbers, numbers, st.data())
def test_any_number_or_id_may_stand_anywhere(sentence: list[str], one: str, other: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(sentence)))

    said = [f"E: {' '.join([*sentence[:place], number, *sentence[place:]])}" for number in (one, other)]

    assert fingerprint("t", said[0]) == fingerprint("t", said[1])


@given(words, st.text("abc :.,!\n"), st.text("abc :.,!\n"), quotes)
def test_any_text_may_be_quoted(word: str, one: str, other: str, marks: str) -> None:
    said = [f"E: {word} {marks[0]}{value}{marks[1]} {word}" for value in (one, other)]

    assert fingerprint("t", said[0]) == fingerprint("t", said[1])


@given(st.text(), st.text())
def test_any_error_has_a_fingerprint_of_its_length(task: str, error: str) -> None:
    told = fingerprint(task, error)

    assert len(told) == LENGTH and int(told, 16) >= 0
    assert len(what_is_wrong(error)) <= LONGEST_KEPT


@given(st.text("abcdef01'\"@.- #"))
def test_no_digit_is_left(error: str) -> None:
    assert not any(character.isdigit() for character in what_is_wrong(error))


@pytest.mark.parametrize("piece", ["a", "1", "'", '"', ".", "-", " ", "a'", "'a", "http ", "#", "# ", "@", "é", "“"])
def test_of_a_text_of_any_length_only_the_start_is_read(piece: str) -> None:
    long = piece * 1_000_000

    assert what_is_wrong(long) == what_is_wrong(long[:LONGEST_READ])


def test_what_varies_is_marked() -> None:
    assert what_is_wrong("KeyError: 'a' in row 5") == f"KeyError: {VARIES} in row {VARIES}"
