"""Secrets are known by their names, sealed for one tenant, and taken out of what people read."""

from __future__ import annotations

import base64
import json
import logging
from uuid import uuid4

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from jobs.redaction import (
    MARK,
    SEALED,
    SEALED_IN_JSON,
    SHORTEST_SCRUBBED,
    Scrubber,
    _spellings,
    cleaned_end,
    cleaned_start,
    fault_of_secrets,
    redacted,
)
from jobs.sealing import CannotOpen, Seal, get_seal
from jobs.secret_names import is_secret, spelled
from scheduler_project.logs import hide_within
from tests.unit.test_documents import documents

ALICE, CHARLIE = uuid4(), uuid4()
seal = Seal(["k" * 32])


@pytest.mark.parametrize(
    "name",
    [
        "password", "PASSWORD", "Password", "db_password", "dbPassword", "smtp-password", "password2", "passwd", "pwd",
        "token", "access_token", "accessToken", "X-Auth-Token", "secret", "client_secret", "clientSecret", "api_key",
        "apiKey", "APIKey", "X-API-Key", "apikey", "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie",
        "private_key", "signing_secret", "aws_secret_access_key", "credentials", "passphrase",
    ],
)  # fmt: skip
def test_a_name_that_says_so_is_a_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["", "to", "key", "keys", "max_tokens", "token_type", "secretary", "monkey", "primary_key", "public_key", "author",
     "cookie_name", "author_id", "body", "subject", "password_hint", "1", "日本"],
)  # fmt: skip
def test_other_names_are_not(name: str) -> None:
    assert not is_secret(name)


def test_a_task_names_others_however_they_are_written() -> None:
    also = frozenset({spelled("card_number")})

    assert all(is_secret(name, also) for name in ("card_number", "cardNumber", "Card-Number", "CARD_NUMBER"))
    assert not is_secret("card", also)


@given(st.text(max_size=300))
def test_any_name_is_one_or_the_other(name: str) -> None:
    assert is_secret(name) in (True, False)
    assert is_secret(name + "_token")


PAYLOAD = {
    "url": "https://example.com",
    "headers": {"Authorization": "Bearer abcdefgh12345678", "Accept": "*/*"},
    "servers": [{"host": "a", "password": "hunter22"}, {"host": "b", "password": ""}],
    "credentials": {"user": "u", "pin": [1, 2]},
    "token": None,
    "secret": False,
    "api_key": 12345678,
}


def test_what_goes_by_a_secret_name_is_sealed_at_any_depth_and_opens_again() -> None:
    sealed = seal.sealed(PAYLOAD, ALICE)

    text = json.dumps(sealed)
    assert SEALED_IN_JSON in text
    assert not any(secret in text for secret in ("abcdefgh", "hunter22", "12345678", '"pin"'))
    assert sealed["url"] == PAYLOAD["url"] and sealed["headers"]["Accept"] == "*/*"
    assert sealed["servers"][1] == PAYLOAD["servers"][1] and sealed["token"] is None and sealed["secret"] is False
    assert seal.opened(sealed, ALICE) == PAYLOAD
    assert PAYLOAD["headers"]["Authorization"] == "Bearer abcdefgh12345678", "what came is not changed"


def test_without_secrets_nothing_is_copied() -> None:
    plain = {"to": "a", "deep": [{"body": "b"}, 1]}

    assert seal.sealed(plain, ALICE) is plain and redacted(plain) is plain and seal.opened(plain, ALICE) is plain


@given(documents, st.sampled_from(["password", "x"]))
def test_any_document_opens_as_what_it_was(document, name) -> None:
    payload = {name: document, "others": [document, {name: document}]}

    sealed = seal.sealed(payload, ALICE)

    assert seal.opened(sealed, ALICE) == payload
    assert seal.opened(json.loads(json.dumps(sealed)), ALICE) == payload


@given(documents)
def test_any_document_is_shown_without_its_secrets(document) -> None:
    payload = {"password": "correct horse", "more": [document, {"token": "battery staple"}]}

    for shown in (redacted(payload), redacted(seal.sealed(payload, ALICE))):
        assert shown["password"] == shown["more"][1]["token"] == MARK
        assert "horse" not in json.dumps(shown) and SEALED not in shown["password"]


def test_what_is_another_tenants_or_was_changed_does_not_open() -> None:
    sealed = seal.sealed({"password": "hunter22"}, ALICE)
    text = sealed["password"][SEALED]
    changed = text[:-6] + ("A" if text[-6] != "A" else "B") + text[-5:]

    with pytest.raises(CannotOpen, match="another tenant"):
        seal.opened(sealed, CHARLIE)
    with pytest.raises(CannotOpen, match="changed"):
        seal.opened({"password": {SEALED: changed}}, ALICE)


@pytest.mark.parametrize("nonsense", ["", "1.2", "1.abcdef.????", 5, None, "1.00000000.AAAA"])
def test_what_was_never_sealed_does_not_open(nonsense) -> None:
    with pytest.raises(CannotOpen):
        seal.opened({"password": {SEALED: nonsense}}, ALICE)


def test_a_new_key_seals_and_old_ones_still_open() -> None:
    new, newest = Seal(["n" * 32, "k" * 32]), Seal(["n" * 32])
    old = seal.sealed({"password": "hunter22"}, ALICE)

    again = new.sealed(new.opened(old, ALICE), ALICE)

    assert new.opened(old, ALICE) == newest.opened(again, ALICE) == {"password": "hunter22"}
    with pytest.raises(CannotOpen, match="SECRETS_OLD_KEYS"):
        newest.opened(old, ALICE)


def test_the_same_secret_is_sealed_differently_each_time() -> None:
    assert seal.sealed({"token": "abcd"}, ALICE) != seal.sealed({"token": "abcd"}, ALICE)


def test_the_key_is_kept_like_the_other_one() -> None:
    assert len(settings.SECRETS_KEY) >= 32 and settings.SECRETS_KEY != settings.SECRET_KEY
    assert (settings.VAR_DIR / "secrets_key").read_text() == settings.SECRETS_KEY
    assert get_seal() is get_seal()


SPELLED = ["hunter\"22'\\", "pass word/with?signs&", "schlüssel☃", "line\nbreak1"]


@pytest.mark.parametrize("secret", SPELLED)
@pytest.mark.parametrize(
    "spell",
    [
        str,
        repr,
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: repr(text.encode()),
        lambda text: base64.b64encode(text.encode()).decode(),
    ],
)
def test_a_secret_is_taken_out_of_a_text_however_it_is_spelled(secret, spell) -> None:
    text = f"could not log in with {spell(secret)}, sorry"

    cleaned = Scrubber([{"password": secret}]).clean(text)

    assert MARK in cleaned and cleaned.startswith("could not log in with") and cleaned.endswith(", sorry")
    assert spell(secret).strip("'\"b") not in cleaned


@given(st.binary(max_size=9), st.binary(max_size=9), st.sampled_from(["hunter22", *SPELLED]), st.booleans())
def test_a_secret_within_base64_is_taken_out_whatever_is_beside_it(before, after, secret, for_urls) -> None:
    encode = base64.urlsafe_b64encode if for_urls else base64.b64encode
    whole = secret.encode()

    cleaned = Scrubber([secret]).clean(f"Authorization: Basic {encode(before + whole + after).decode()}, sorry")

    assert MARK in cleaned and cleaned.startswith("Authorization: Basic ") and cleaned.endswith(", sorry")
    left = cleaned.removeprefix("Authorization: Basic ").removesuffix(", sorry")
    assert len(left.replace(MARK, "")) <= len(encode(before)) + len(encode(after)) + 4


def test_a_secret_is_taken_out_of_html() -> None:
    assert Scrubber(["<hunter> & 22"]).clean("<p>&lt;hunter&gt; &amp; 22</p>") == f"<p>{MARK}</p>"


@given(st.text(min_size=4), st.text(), st.text())
def test_no_text_keeps_a_secret(secret: str, before: str, after: str) -> None:
    cleaned = Scrubber([secret]).clean(before + secret + after)

    assert secret not in cleaned or secret in before + MARK + after


def test_what_follows_bearer_is_a_secret_by_itself_and_numbers_are_too() -> None:
    scrubber = Scrubber(["Bearer abcdefgh12345678", 98765432])

    assert scrubber.clean("abcdefgh12345678 and 98765432") == f"{MARK} and {MARK}"
    assert scrubber.clean("Bearer of bad news") == "Bearer of bad news"


def test_of_very_short_secrets_no_text_is_cleaned() -> None:
    assert Scrubber(["a"]).clean("a banana") == "a banana"


def test_two_scrubbers_make_one_that_takes_out_the_secrets_of_both() -> None:
    both = Scrubber(["hunter22"], besides=Scrubber(["hunter22-and-more"]))

    assert both.clean("hunter22-and-more, hunter22") == f"{MARK}, {MARK}"


def cleaned_one_by_one(secrets: list[str], text: str) -> str:
    """What is hidden at the least: every spelling of every secret and of its words, the longest first."""
    words = {word for secret in secrets for word in (secret, *(one for one in secret.split() if len(one) >= 8))}
    spelled = {text for word in words for text in _spellings(word) if len(text) >= SHORTEST_SCRUBBED}
    for spelling in sorted(spelled, key=len, reverse=True):
        text = text.replace(spelling, MARK)
    return text


letters = st.text('ab "\\é+', max_size=80)


@given(st.lists(letters, max_size=4), st.data())
def test_whatever_is_hidden_one_by_one_is_hidden_at_once(secrets: list[str], data: st.DataObject) -> None:
    spelled = [text for secret in secrets for text in _spellings(secret)] or [""]
    text = "".join(data.draw(st.lists(letters | st.sampled_from(spelled), max_size=5)))

    cleaned = Scrubber(secrets).clean(text)

    # What is left is a part of what was left before: nothing that was hidden is seen.
    left, told = cleaned_one_by_one(secrets, text).split(MARK), cleaned.split(MARK)
    rest = iter("\0".join(left))
    assert all(letter in rest for letter in "".join(told)), (cleaned, left)
    assert all(spelling not in cleaned for one in secrets for spelling in _spellings(one) if len(spelling) >= 4)
    assert cleaned == text or MARK in cleaned


def test_a_secret_is_hidden_wherever_it_overlaps_with_another_one() -> None:
    assert Scrubber(["abcdefgh", "xabc"]).clean("1xabcdefgh2") == f"1{MARK}2"
    assert Scrubber(["abab"]).clean("ababab") == MARK


def test_a_long_secret_is_hidden_as_a_whole_and_in_parts() -> None:
    key = "".join(chr(97 + (n * n) % 26) + str(n) for n in range(2_000))

    assert Scrubber([key]).clean(f"the key is {key}, sorry") == f"the key is {MARK}, sorry"
    assert key[:300] not in Scrubber([key]).clean(f"the key begins with {key[:300]}")


class Counted(str):
    """A text that counts the parts that are taken of it, and each search of it by its length."""

    taken = 0

    def replace(self, *words) -> Counted:
        Counted.taken += len(self)
        return Counted(super().replace(*words))

    def __contains__(self, word) -> bool:
        Counted.taken += len(self)
        return super().__contains__(word)

    def __getitem__(self, key):
        Counted.taken += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("size", [1_000, 10_000])
@pytest.mark.parametrize("count", [50, 900])
def test_the_time_to_clean_a_text_grows_with_the_text_and_not_with_the_secrets(size: int, count: int) -> None:
    scrubber = Scrubber([f"secret-{n:04}-{'x' * (n % 50)}" for n in range(count)])
    Counted.taken = 0

    scrubber.clean(Counted("secret-0001 secret-9999-x " * (size // 26)))

    assert Counted.taken < 10 * size


def test_the_secrets_of_a_batch_are_each_bounded_by_themselves() -> None:
    many = [[f"{n:04}-{place:04}-hunter" for place in range(200)] for n in range(50)]

    assert Scrubber(*many).clean("0049-0199-hunter, 0050-0000-hunter") == f"{MARK}, 0050-0000-hunter"


@pytest.mark.parametrize(
    "secrets", [["x" * 70_000], [f"{n:08}" for n in range(1_001)], [" ".join(map(str, range(10**7, 10**7 + 1_001)))]]
)
def test_of_more_secrets_than_can_be_looked_for_nothing_is_shown(secrets: list[str]) -> None:
    assert fault_of_secrets(secrets)
    assert secrets[0][-8:] not in Scrubber(secrets).clean(f"it is {secrets[0]}")
    assert Scrubber(secrets).clean("") == ""


def test_the_cut_end_of_a_text_shows_no_part_of_a_secret() -> None:
    clean = Scrubber(["hunter22-and-more"]).clean

    for length in range(20, 60):
        assert "hunt" not in cleaned_start(clean, "a" * 30 + "hunter22-and-more" + "b" * 30, length)
        assert "more" not in cleaned_end(clean, "a" * 30 + "hunter22-and-more" + "b" * 30, length)
    assert cleaned_start(clean, "a" * 1000, 100) == "a" * 76 + "…" and cleaned_end(clean, "b" * 9, 9) == "b" * 9


def test_documents_are_cleaned_in_every_corner() -> None:
    document = {"hunter22": ["x hunter22", {"a": ("hunter22", 5, None)}]}

    assert Scrubber(["hunter22"]).clean_document(document) == {MARK: [f"x {MARK}", {"a": [MARK, 5, None]}]}


def test_a_number_is_taken_out_of_a_document_as_out_of_a_text() -> None:
    document = {"echo": 471_100, "part": [1_471_100, -4711.0], "other": [4712, 1.5, True, None]}

    cleaned = Scrubber([471_100, True]).clean_document(document)

    assert cleaned == document | {"echo": MARK, "part": [f"1{MARK}", -4711.0]}


def test_a_line_of_the_log_written_within_has_no_secret(capsys) -> None:
    handler = logging.getLogger().handlers[0]
    before = hide_within.set(Scrubber(["hunter22"]))
    try:
        record = logging.LogRecord("lib", logging.INFO, "f.py", 1, "logging in with %s", ("hunter22",), None)
        told = handler.format(record)
    finally:
        hide_within.reset(before)

    assert MARK in told or "\\u2022" in told
    assert "hunter22" not in told
