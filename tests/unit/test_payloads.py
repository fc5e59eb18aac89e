"""What a payload may be, and what becomes of its secrets on the way in."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest
from pydantic import BaseModel, ConfigDict

from execution.registry import MAX_FAULTS, InvalidPayload, Task, registry
from jobs.payloads import Stored, accepted, has_marks
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
CALL = Task("call", lambda payload, run: None, Anything, secrets_bound_to=frozenset({"url"}))


def store(payload, task: Task = ANY, stored=None):
    return accepted(task, payload, tenant=TENANT, stored=None if stored is None else Stored(task.name, stored))


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

    after = store(shown, stored=before)

    assert opened(after) == {"a": {"password": "one"}, "list": [{"token": "two"}], "pin": "0815"}


SERVERS = {
    "url": "https://api.example.com/v1?team=a",
    "body": {"n": 1, "password": "in the body"},
    "headers": {"Authorization": "Bearer of-alice", "X-Forward": "a"},
    "to": ["alice@example.com"],
}
BODY, HEADER = "body.password", "headers.Authorization"


def edited(task: Task, **changes) -> dict[str, str]:
    """What is told about each secret when a payload is sent back with these changes."""
    before = store(SERVERS, task)
    try:
        store(redacted(before) | changes, task, before)
    except InvalidPayload as error:
        return error.errors
    return {}


@pytest.mark.parametrize(
    "url",
    ["https://attacker.example/v1?team=a", "http://api.example.com/v1?team=a", "https://api.example.com:444/v1?team=a",
     "https://api.example.com/v2?team=a", "https://api.example.com/v1?team=b", "https://api.example.com/v1", None],
)  # fmt: skip
def test_a_mark_keeps_a_secret_for_the_same_url_only(url) -> None:
    told = edited(CALL, url=url)

    assert told.keys() == {BODY, HEADER}
    assert all(one == "was stored for another value of url. Enter the secret again." for one in told.values())


def test_what_a_task_does_not_bind_its_secrets_to_may_change() -> None:
    before = store(SERVERS, CALL)

    after = store(redacted(before) | {"to": ["bob@example.com"]}, CALL, before)

    assert opened(after) == SERVERS | {"to": ["bob@example.com"]}


def test_no_header_sends_the_secret_in_the_body_of_a_request_on_to_somebody_else() -> None:
    task = registry.get("http_request")
    before = store({"url": "https://relay.example.com/", "body": {"token": "of-alice"}, "headers": {"X-To": "a"}}, task)

    for headers in ({"X-To": "attacker.example"}, {"X-To": "a", "X-Original-URL": "/attacker"}, {}):
        faults = fault(redacted(before) | {"headers": headers}, task, before)
        assert faults[0] == "body.token" and "another value of headers" in faults[1]
    assert opened(store(redacted(before) | {"timeout": 5}, task, before))["body"] == {"token": "of-alice"}


def test_what_stands_beside_a_secret_binds_it_too() -> None:
    headers = {"Authorization": MARK, "X-Forward": "attacker.example"}

    assert edited(CALL, headers=headers) == {
        HEADER: "was stored for another value of headers.X-Forward. Enter the secret again."
    }
    assert edited(CALL, body={"password": MARK, "n": 2}).keys() == {BODY}


@pytest.mark.parametrize(
    "changes",
    [
        {"to": ["bob@example.com"]},
        {"to": ["alice@example.com", "bob@example.com"]},
        {"to": []},
        {"cc": "bob@example.com"},
    ],
)
def test_a_task_that_binds_its_secrets_to_nothing_gives_them_up_for_no_change_at_all(changes) -> None:
    assert edited(ANY, **changes).keys() == {BODY, HEADER}
    assert edited(ANY) == {}


def test_a_mark_in_another_place_stands_for_nothing() -> None:
    before = store(SERVERS, CALL)
    moved = redacted(before) | {"headers": {"X-Forward": "a"}, "body": {"n": 1, "token": MARK}}

    assert fault(moved, CALL, before)[0] == "body.token"


def test_items_with_secrets_do_not_change_places() -> None:
    before = store({"url": "u", "servers": [{"host": "a", "token": "of-a"}, {"host": "b", "token": "of-b"}]}, CALL)
    shown = redacted(before)

    with pytest.raises(InvalidPayload) as raised:
        store(shown | {"servers": shown["servers"][::-1]}, CALL, before)

    assert raised.value.errors.keys() == {"servers.0.token", "servers.1.token"}


def test_a_secret_is_replaced_by_a_value_and_not_by_an_object_that_names_a_place() -> None:
    before = store({"password": "one", "credentials": {"host": "a", "pin": 1}}, ANY)

    assert fault({"password": MARK, "credentials": {"host": "b"}}, ANY, before)[0] == "password"
    assert opened(store({"password": MARK, "credentials": "another"}, ANY, before))["password"] == "one"


@pytest.mark.parametrize("bound", [None, frozenset({"dsn"})])
def test_a_secret_that_is_a_place_binds_the_other_secrets(bound) -> None:
    push = Task("push", ANY.handler, Anything, secrets=frozenset({"dsn"}), secrets_bound_to=bound)
    before = store({"dsn": "https://key@example.com", "token": "one"}, push)

    assert fault({"dsn": "https://evil.example", "token": MARK}, push, before)[0] == "token"
    assert opened(store({"dsn": MARK, "token": "two"}, push, before)) == {
        "dsn": "https://key@example.com",
        "token": "two",
    }


def test_a_secret_that_the_task_binds_the_others_to_is_a_place_whatever_its_name() -> None:
    push = Task("push", ANY.handler, Anything, secrets_bound_to=frozenset({"credentials"}))
    before = store({"credentials": "https://key@example.com", "token": "one"}, push)

    assert fault({"credentials": "https://evil.example", "token": MARK}, push, before)[0] == "token"


def test_a_secret_does_not_go_to_another_task() -> None:
    before = store({"password": "one"}, CALL)

    with pytest.raises(InvalidPayload) as raised:
        accepted(ANY, redacted(before), tenant=TENANT, stored=Stored("call", before))

    assert raised.value.errors == {
        "password": "was stored for the task call, and cannot be kept for any. Enter the secret again."
    }


def test_a_refusal_does_not_quote_the_secret_that_a_mark_stands_for() -> None:
    def refuse(payload):
        raise InvalidPayload({"": f"{payload!r} is not valid under any of the given schemas."})

    class Quoting(Task):
        def read(self, payload):
            refuse(payload)

    before = store({"password": "hunter22"})

    _, why = fault({"password": MARK}, Quoting("any", ANY.handler, Anything), before)

    assert "hunter22" not in why and MARK in why


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


@pytest.mark.parametrize("field", ["to", "cc", "attachments", "headers", "context", "expected", "unknown"])
def test_a_payload_with_very_many_faults_is_refused_at_once_and_tells_some_of_them(field) -> None:
    task = registry.get("http_request" if field == "expected" else "send_email")
    many = {f"k{n}": 1 for n in range(9_000)}
    value = many if field in ("headers", "context") else [0] * 9_000
    began = time.process_time()

    with pytest.raises(InvalidPayload) as refused:
        accepted(task, many if field == "unknown" else {field: value}, tenant=TENANT)

    assert 1 <= len(refused.value.errors) <= MAX_FAULTS
    assert time.process_time() - began < 0.5


def test_more_secrets_than_can_be_looked_for_in_texts_are_refused() -> None:
    where, why = fault({"password": "x" * 70_000})

    assert where == "" and "secrets" in why
    assert fault({"a": [{"token": f"{n:08}"} for n in range(1_100)]})[0] == ""
    assert store({"password": "x" * 60_000, "body": "y" * 100_000})


def test_a_secret_counts_as_what_it_is(settings) -> None:
    settings.LARGEST_PAYLOAD = 100

    assert fault({"password": "x" * 200})[0] == ""
    assert store({"password": "x" * 70})
