"""The tags and filters that a mail's template may use: those that shape text, and none that reach for anything else.

Django's own are taken by name, so that one added in a later version has to be looked at first. Left out on purpose are
those that load or reach for things (load, include, extends, url, debug), those whose output a short argument makes
huge (center, ljust, rjust, stringformat, lorem), and those that take long over text made for it (urlize, striptags).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

from django.template import Library
from django.template.defaultfilters import register as django_filters
from django.template.defaulttags import register as django_tags

TAGS = [
    "autoescape",
    "comment",
    "cycle",
    "filter",
    "firstof",
    "for",
    "if",
    "ifchanged",
    "now",
    "regroup",
    "resetcycle",
    "templatetag",
    "verbatim",
    "widthratio",
    "with",
]
FILTERS = [
    "add",
    "addslashes",
    "capfirst",
    "cut",
    "default",
    "default_if_none",
    "dictsort",
    "dictsortreversed",
    "divisibleby",
    "escape",
    "escapejs",
    "filesizeformat",
    "first",
    "floatformat",
    "force_escape",
    "get_digit",
    "iriencode",
    "join",
    "json_script",
    "last",
    "length",
    "linebreaks",
    "linebreaksbr",
    "lower",
    "make_list",
    "phone2numeric",
    "pluralize",
    "safe",
    "safeseq",
    "slice",
    "slugify",
    "title",
    "truncatechars",
    "truncatewords",
    "unordered_list",
    "upper",
    "urlencode",
    "wordcount",
    "wordwrap",
    "yesno",
]
LARGEST = 1_000_000  # characters, or members, of anything a template makes
LONGEST = 2.0  # seconds for a template: nobody writes one that takes a tenth of it
MOST_STEPS = 100_000
MOST_DIGITS = 50  # after a decimal point


class TemplateTooLarge(Exception):
    """The template makes too much, or takes too long."""


class Meter:
    """What one rendering has used so far."""

    def __init__(self) -> None:
        self._ends_at = time.monotonic() + LONGEST
        self._steps = 0
        self._made = 0

    def step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS or time.monotonic() > self._ends_at:
            raise TemplateTooLarge("it takes too many steps. Loop over less, or prepare the text before.")

    def made(self, text: str) -> None:
        self._made += len(text)
        if self._made > LARGEST:
            raise TemplateTooLarge(f"it makes more than {LARGEST:,} characters. Send less, or link to the rest.")


meter: ContextVar[Meter] = ContextVar("meter")


def _metered(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def metered(value: Any, *args: Any, **options: Any) -> Any:
        meter.get().step()
        _check_arguments(function.__name__, value, args)
        result = function(value, *args, **options)
        if isinstance(result, (str, list, tuple)) and len(result) > LARGEST:
            raise TemplateTooLarge(f"one of its values has more than {LARGEST:,} parts.")
        return result

    return metered


def _check_arguments(name: str, value: Any, args: tuple[Any, ...]) -> None:
    """Refuse what would be huge before it is made."""
    size = len(value) if isinstance(value, (str, list, tuple, dict)) else 0
    if name == "join" and args and size * len(str(args[0])) > LARGEST:
        raise TemplateTooLarge("what `join` puts between the parts is too long.")
    if name == "floatformat" and any(digits > MOST_DIGITS for digits in _numbers(args)):
        raise TemplateTooLarge(f"`floatformat` has at most {MOST_DIGITS} digits.")
    if name == "wordwrap" and any(width < 1 for width in _numbers(args)):
        raise TemplateTooLarge("`wordwrap` needs a width of at least 1.")


def _numbers(args: tuple[Any, ...]) -> list[int]:
    digits = ["".join(character for character in str(arg) if character in "0123456789")[:9] for arg in args]
    return [int(one) if one else 0 for one in digits]


def allowed() -> Library:
    """The library that templates are given instead of Django's own."""
    library = Library()
    library.tags = {name: django_tags.tags[name] for name in TAGS}
    library.filters = {name: _metered(django_filters.filters[name]) for name in FILTERS}
    return library
