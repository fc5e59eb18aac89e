"""What a payload may be, and what becomes of its secrets on the way in."""

from __future__ import annotations

from uuid import uuid4

import pytest
from pydantic import BaseModel, ConfigDict

from execution.registry import InvalidPayload, Task
from jobs.payloads import accepted, has_marks
from jobs.redaction import MARK, SEALED, redacted
from jobs.sealing import get_seal

TENANT = uuid4()


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


class Login(BaseModel):
    password: str
    user: str = ""


ANY = Task("any", lambda payload, run: None, Anything, secrets=frozenset({"pin"}))
STRICT = Task("login", lambda payload, run: None, Login)


def store(payload, task: Task = ANY, stored=None):
    return accepted(task, payload, tenant=TENANT, stored=stored)


def opened(payload):
    return get_seal().opened(payload, TENANT)


def fault(payload, task: Task = ANY, stored=None) -> tuple[str, str]:
    with pytest.raises(InvalidPayload) as raised:
        store(payload, task, stored)
    [told] = raised.value.errors.items()
    return told


def test_secrets_are_sealed_by_name_and_by_what_the_task_says() -> None:
    stored = store({"password": "hunter22", "pin": "0815", "deep": [{"PIN": 4711}], "to": "you"})

    assert redacted(stored) == {"password": MARK, "pin": MARK, "deep": [{"PIN": MARK}], "to": "you"}
    assert opened(stored)["deep"] == [{"PIN": 4711}]


def test_the_task_is_asked_about_the_value_not_about_what_is_stored() -> None:
    assert opened(store({"password": "hunter22"}, STRICT)) == {"password": "hunter22"}
    assert fault({"password": 5}, STRICT)[0] == "password"


def test_a_mark_keeps_what_is_stored_at_its_place() -> None:
    before = store({"a": {"password": "one"}, "list": [{"token": "two"}], "pin": "0815"})
    shown = redacted(before)

    after = store(shown | {"new": 1}, stored=before)

    assert opened(after) == {"a": {"password": "one"}, "list": [{"token": "two"}], "pin": "0815", "new": 1}


def test_one_secret_is_changed_and_the_other_kept() -> None:
    before = store({"password": "one", "token": "two"})

    assert opened(store({"password": MARK, "token": "three"}, stored=before)) == {"password": "one", "token": "three"}


def test_secrets_from_before_there_was_sealing_are_kept_and_sealed() -> None:
    after = store({"password": MARK}, stored={"password": "in the clear"})

    assert SEALED in after["password"] and opened(after) == {"password": "in the clear"}


@pytest.mark.parametrize(
    ("payload", "stored", "path"),
    [
        ({"password": MARK}, None, "password"),
        ({"a": [{"token": MARK}]}, {"a": []}, "a.0.token"),
        ({"a": {"pin": MARK}}, {"a": "text"}, "a.pin"),
    ],
)
def test_a_mark_that_stands_for_nothing_is_refused_with_its_place(payload, stored, path) -> None:
    where, why = fault(payload, stored=stored)

    assert where == path and "Send the value" in why


def test_where_no_secret_is_meant_a_mark_is_a_text() -> None:
    assert store({"body": MARK, "list": [MARK]}) == {"body": MARK, "list": [MARK]}
    assert has_marks({"a": [{"password": MARK}]}, ANY) and not has_marks({"body": MARK}, ANY)


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({SEALED: "x"}, SEALED),
        ({"a": [{"b": {SEALED: "x"}}]}, f"a.0.b.{SEALED}"),
        ({"password": {SEALED: "x"}}, f"password.{SEALED}"),
        ({"password": {"b": {SEALED: "x", "c": 1}}}, f"password.b.{SEALED}"),
    ],
)
def test_nobody_passes_off_a_value_as_sealed(payload, path) -> None:
    assert fault(payload)[0] == path


def test_a_payload_too_large_is_refused(settings) -> None:
    settings.LARGEST_PAYLOAD = 100

    where, why = fault({"body": "x" * 200})

    assert where == "" and "100 are allowed" in why
    assert store({"body": "x" * 50})


def test_a_payload_of_too_many_parts_is_refused_however_they_are_arranged(settings) -> None:
    settings.MOST_PAYLOAD_PARTS = 10

    for payload in ({"a": [1] * 20}, {f"k{n}": 1 for n in range(20)}, {"a": [[[1, 2, 3]] * 5] * 3}):
        where, why = fault(payload)
        assert where == "" and "10 are allowed" in why
    assert store({"a": [1] * 9})


def test_a_secret_counts_as_what_it_is(settings) -> None:
    settings.LARGEST_PAYLOAD = 100

    assert fault({"password": "x" * 200})[0] == ""
    assert store({"password": "x" * 70})
