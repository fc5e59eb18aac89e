"""The tags and filters that a mail's template may use: those that shape text, and none that reach for anything else.

Django's own are taken by name, so that one added in a later version has to be looked at first. Left out on purpose are
those that load or reach for things (load, include, extends, url, debug), those whose output a short argument makes
huge (center, ljust, rjust, stringformat, lorem), and those that take long over text made for it (urlize, striptags).
All others are charged to the mail's budget (see `execution.mail.meter`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from unicodedata import combining, normalize

from django.template import Library
from django.template.defaultfilters import register as django_filters
from django.template.defaulttags import register as django_tags

from execution.mail.meter import MAX_MADE, TemplateTooLarge, current_meter

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
# These look at what a value is or how long it is, and not at all that is in it.
SHALLOW = frozenset(
    ("add", "default", "default_if_none", "divisibleby", "first", "last", "length", "pluralize", "yesno")
)
# These look at each character in Python code.
SLOW = frozenset(
    ("make_list", "phone2numeric", "slugify", "title", "truncatechars", "unordered_list", "urlencode", "wordwrap")
)
SLOWNESS = 8  # times a fast filter's cost for a character
LABORIOUS = frozenset(("filesizeformat", "floatformat"))  # whatever the value
LABOR = 5  # times another filter's cost
NORMALIZING = ("slugify", "truncatechars")  # by Unicode's rules, in a time that grows with the square of these
MAX_MARKS = 30  # combining characters in a row: what Unicode calls stream-safe; no language needs as many
MAX_DIGITS = 50  # after a decimal point
MAX_ARGUMENT = 1_000  # characters, of an argument that is not shown as text
LONGEST_ESCAPE = 6  # characters that one becomes in HTML
TEXT_ARGUMENTS = ("add", "default", "default_if_none", "join", "yesno")


def _metered(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__.removesuffix("_filter")
    shallow, times = name in SHALLOW, SLOWNESS if name in SLOW else 1
    steps = LABOR if name in LABORIOUS else 1

    @wraps(function)
    def metered(value: Any, *args: Any, **options: Any) -> Any:
        meter = current_meter()
        meter.step(steps)
        if not shallow:
            meter.look_through(value, times)
        _check_arguments(name, value, args)
        result = function(value, *args, **options)
        meter.made(result)
        return result

    return metered


def _check_arguments(name: str, value: Any, args: tuple[Any, ...]) -> None:
    """Refuse what would be huge, or take long, before it is made."""
    parts = len(value) if name == "join" and isinstance(value, (str, list, tuple, dict)) else 0
    if parts * sum(len(str(arg)) for arg in args) * LONGEST_ESCAPE > MAX_MADE:
        raise TemplateTooLarge("what `join` puts between the parts is too long.")
    if name == "floatformat" and any(digits > MAX_DIGITS for digits in _numbers(args)):
        raise TemplateTooLarge(f"`floatformat` has at most {MAX_DIGITS} digits.")
    if name == "wordwrap" and any(width < 1 for width in _numbers(args)):
        raise TemplateTooLarge("`wordwrap` needs a width of at least 1.")
    if name in NORMALIZING and _longest_run_of_marks(str(value)) > MAX_MARKS:
        raise TemplateTooLarge(f"`{name}` takes at most {MAX_MARKS} combining characters in a row.")
    if name not in TEXT_ARGUMENTS and any(isinstance(arg, str) and len(arg) > MAX_ARGUMENT for arg in args):
        raise TemplateTooLarge(f"the argument of `{name}` has more than {MAX_ARGUMENT:,} characters.")


def _longest_run_of_marks(text: str) -> int:
    """In the normal form: some characters that are not combining become several that are."""
    if text.isascii():
        return 0
    longest = run = 0
    for character in text:
        for part in normalize("NFKD", character):
            run = run + 1 if combining(part) else 0
            longest = max(longest, run)
    return longest


def _numbers(args: tuple[Any, ...]) -> list[int]:
    digits = ["".join(character for character in str(arg)[:MAX_ARGUMENT] if character in "0123456789") for arg in args]
    return [int(one[:9]) if one else 0 for one in digits]


def allowed() -> Library:
    """The library that templates are given instead of Django's own."""
    library = Library()
    library.tags = {name: django_tags.tags[name] for name in TAGS}
    library.filters = {name: _metered(django_filters.filters[name]) for name in FILTERS}
    return library
