"""What a job can be found by."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.terms import LONGEST_TAG, LONGEST_TERM, MOST_WORDS, InvalidTags, read_tag, read_tags, terms_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Weekly Report", ["weekly", "report"]),
        ("daily-report_2 (EU)", ["daily", "report", "2", "eu"]),
        ("Café Straße", ["cafe", "strasse"]),
        ("a A a", ["a"]),
        ("Отчёт 日本語", ["отчет", "日本語"]),
        ("… !! ", []),
        ("", []),
    ],
)
def test_words_are_compared_in_small_letters_without_accents_or_signs(text, words) -> None:
    assert words_of(text) == words


def test_only_the_first_words_of_a_name_and_the_first_letters_of_a_word_count() -> None:
    assert len(terms_of(" ".join(f"w{number}" for number in range(40)), [])) == MOST_WORDS
    assert [len(word) for word in words_of("x" * 200)] == [LONGEST_TERM]


@given(st.text(max_size=200))
def test_whatever_a_name_is_its_terms_can_be_kept(name) -> None:
    terms = terms_of(name, [])

    assert len(set(terms)) == len(terms)
    assert all(0 < len(term) <= LONGEST_TERM and not term.startswith("#") for term in terms)


@given(st.text(max_size=60))
def test_a_tag_that_is_accepted_is_accepted_again_and_stays_the_same(text) -> None:
    try:
        tag = read_tag(text)
    except InvalidTags as error:
        assert "tag" in str(error)
        return
    assert read_tag(tag) == tag and 0 < len(tag) <= LONGEST_TAG
    assert read_tags([text, tag]) == [tag]


# To bring as many combining characters into their canonical order would take minutes, and hold up every other thread.
REORDERED = "a" + "\u0300" * 200_000 + "\u0316" * 200_000


def test_a_text_with_very_many_combining_characters_is_read_at_once() -> None:
    began = time.process_time()

    with pytest.raises(InvalidTags):
        read_tag(REORDERED)
    assert words_of(REORDERED) == ["a"]
    assert time.process_time() - began < 1


def test_a_tag_may_be_longer_before_its_letters_are_composed() -> None:
    written = unicodedata.normalize("NFD", "한" * LONGEST_TAG)

    assert len(written) == 3 * LONGEST_TAG and read_tag(written) == "한" * LONGEST_TAG
