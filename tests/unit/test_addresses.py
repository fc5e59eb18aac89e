"""The quick check of mail addresses: never another verdict than the full one's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import EmailStr, TypeAdapter, ValidationError

from execution.addresses import Address


def verdict(kind, address) -> str:
    try:
        return TypeAdapter(kind).validate_python(address)
    except ValidationError as error:
        return error.errors()[0]["msg"]


@pytest.mark.parametrize(
    "address",
    [
        "person@example.com",
        "a.b+c-d_e@mail.example.co.uk",
        "Person@Example.com",
        "POSTMASTER@example.com",
        "Dora <dora@example.com>",
        " dora@example.com ",
        "a@münchen.de",
        "a@xn--mnchen-3ya.de",
        "a@xn--a",
        "a@localhost",
        "a@printer.local",
        "a@-example.com",
        "a@example..com",
        "a@.example.com",
        "a@example.com.",
        "a@1.2.3.4",
        "a..b@example.com",
        ".a@example.com",
        "a@b@example.com",
        "@example.com",
        "a@",
        "a@example.com\n",
        "a\n@example.com",
        "x" * 300 + "@example.com",
        "a@" + "b." * 130 + "com",
        "x" * 250 + "@example.com",
        "",
        5,
        None,
        ["a@example.com"],
    ],
)
def test_every_address_is_judged_as_by_the_full_check(address) -> None:
    for _ in range(2):  # the second time from memory
        assert verdict(Address, address) == verdict(EmailStr, address)


@given(st.emails() | st.from_regex(r"[a-z0-9._+-]{1,9}@[a-z0-9.-]{1,12}", fullmatch=True))
def test_any_address_is_judged_as_by_the_full_check(address) -> None:
    assert verdict(Address, address) == verdict(EmailStr, address)
