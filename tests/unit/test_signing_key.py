"""A signing key that is no protection is told at the start."""

from __future__ import annotations

import pytest

from accounts.checks import weak_signing_key

LONG, OTHER = "k" * 32, "s" * 50


@pytest.mark.parametrize(
    ("key", "told"),
    [("", "punctual.E002"), ("k" * 31, "punctual.E002"), (LONG, None), ("é" * 16, None), (OTHER, "punctual.W003")],
)
def test_a_key_that_is_short_or_not_its_own_is_told_with_the_remedy(key, told) -> None:
    found = weak_signing_key(key, OTHER)

    assert [message.id for message in found] == ([told] if told else [])
    assert all("random text" in message.hint for message in found)
