"""What can be stored, and what cannot."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.documents import MAX_DEPTH, UnstorableDocument, check_document, storable_text

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
)


@given(documents)
def test_plain_json_passes(document) -> None:
    check_document(document)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"a": ["b", "\x00"]}, "a.1"),
        ({"a": {"\x00": 1}}, "a"),
        ({"a": "\udfff"}, "a"),
        (10**19, ""),
        ([float("nan")], "0"),
        ({"a": object()}, "a"),
        ({"a": {1: 2}}, "a"),
        ({"a": b"bytes"}, "a"),
    ],
)
def test_what_cannot_be_stored_is_named(document, path) -> None:
    with pytest.raises(UnstorableDocument) as raised:
        check_document(document)

    assert raised.value.path == path


def test_depth_is_bounded_however_deep_it_is() -> None:
    document: list = []
    for _ in range(100_000):
        document = [document]

    with pytest.raises(UnstorableDocument, match=str(MAX_DEPTH)):
        check_document(document)


def test_what_is_too_deep_is_named_by_its_first_step() -> None:
    document: dict = {}
    for _ in range(50):
        document = {"a": document}

    with pytest.raises(UnstorableDocument) as raised:
        check_document({"task": "x", "payload": document})

    assert raised.value.path == "payload"


@given(st.text())
def test_any_text_can_be_made_storable(anything: str) -> None:
    check_document(storable_text(anything))
    json.dumps(storable_text(anything)).encode()


def test_long_keys_above_many_members_cost_no_more_than_their_sum() -> None:
    document = {"k" * 100_000: [0] * 20_000}

    tracemalloc.start()
    check_document(document)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20_000_000


def test_a_long_key_is_not_repeated_in_full() -> None:
    with pytest.raises(UnstorableDocument) as raised:
        check_document({"k" * 10_000: "\x00"})

    assert len(str(raised.value)) < 300
