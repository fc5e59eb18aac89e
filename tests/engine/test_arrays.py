"""What a batch carries to PostgreSQL arrives as it was, whatever it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import DataError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.ledger.arrays import KINDS, array
from jobs.ledger.batch import execute, run

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite gets its batches as JSON"),
]

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "uuid": st.uuids(),
    "timestamptz": st.datetimes(timezones=st.just(UTC)),
    "integer": st.integers(-(2**31), 2**31 - 1),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "double precision": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "text": TEXTS,
    "jsonb": st.sampled_from(['{"a": [1, "é", null]}', "[]", '"{\\"quoted\\"}"', "7"]),
}


def echoed(kind: str, values: list[Any]) -> list[Any]:
    """What PostgreSQL has understood."""
    text = "CAST(r.said AS text)" if kind == "jsonb" else "r.said"
    rows = [(place, value) for place, value in enumerate(values)]
    return [said for _, said in run(f"SELECT r.place, {text} FROM r", {"place": "integer", "said": kind}, rows)]


def test_every_kind_is_tried() -> None:
    assert VALUES.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", sorted(VALUES))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_values_and_nulls_of_every_kind_arrive_as_they_were(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], min_size=1, max_size=30))

    assert echoed(kind, values) == values


def test_rows_come_in_the_order_of_their_first_column_so_that_locks_are_taken_in_one_order() -> None:
    ids = [uuid4() for _ in range(200)]

    rows = run("SELECT r.this FROM r", {"this": "uuid"}, [(one,) for one in ids])

    assert [one for (one,) in rows] == sorted(ids)


def test_an_instant_of_another_zone_is_the_same_instant() -> None:
    from zoneinfo import ZoneInfo

    there = datetime(2026, 3, 29, 3, 30, tzinfo=ZoneInfo("Europe/Berlin"))

    assert echoed("timestamptz", [there, there + timedelta(microseconds=1)])[0] == there


@pytest.mark.parametrize(
    ("kind", "values"), [("text", ["a\0b", "c"]), ("integer", [2**31, 1]), ("smallint", [1, -(2**15) - 1])]
)
def test_what_postgresql_cannot_store_is_refused_and_not_cut_down_to_size(kind: str, values: list[Any]) -> None:
    with pytest.raises(DataError), transaction.atomic():
        echoed(kind, values)


@pytest.mark.parametrize("kind", sorted(VALUES))
def test_an_array_may_be_empty(kind: str) -> None:
    assert execute("SELECT cardinality(%(r_said)s::" + kind + "[])", {"r_said": array(kind, [])}) == [(0,)]


def test_one_value_that_all_rows_share_is_told_from_one_that_most_share() -> None:
    same, other = uuid4(), uuid4()

    assert echoed("uuid", [same, UUID(int=same.int), same]) == [same] * 3
    assert echoed("uuid", [same, other, same]) == [same, other, same]
    assert echoed("uuid", [same, None, same]) == [same, None, same]
