"""Takes templates apart in a time that grows with their length.

Django's own expression for it looks for the end of each `{%`, `{{` and `{#` anew, and takes minutes over a text of
nothing but such beginnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.template import TemplateSyntaxError
from django.template.base import Lexer, Token

OPENING = re.compile(r"\{[%{#]")
CLOSING = {"{%": "%}", "{{": "}}", "{#": "#}"}
MAX_TAG = 1_000  # characters: Django's expressions for what is in a tag take the square of this


class LinearLexer(Lexer):
    """Gives the tokens that Django's gives. TemplateSyntaxError for a tag longer than anybody writes."""

    def tokenize(self) -> list[Token]:
        tokens, lineno = [], 1
        for text, in_tag in split(self.template_string):
            if in_tag and len(text) > MAX_TAG and not text.startswith("{#"):
                raise TemplateSyntaxError(f"a tag has more than {MAX_TAG:,} characters.")
            tokens.append(self.create_token(text, None, lineno, in_tag))
            lineno += text.count("\n")
        return tokens


def split(source: str) -> Iterator[tuple[str, bool]]:
    """The parts of a template that are not empty, and whether each is a tag. A tag ends on the line it begins on."""
    told = at = 0  # where what was not given yet begins, and where to look on
    line_ends = -1
    closed: dict[str, bool] = {}  # of each kind of tag, whether another end of it may come on this line
    while found := OPENING.search(source, at):
        at = found.start()
        if at > line_ends:
            line_ends = source.find("\n", at)
            line_ends = len(source) if line_ends < 0 else line_ends
            closed = dict.fromkeys(CLOSING, True)
        kind = found[0]
        end = source.find(CLOSING[kind], at + 2, line_ends) if closed[kind] else -1
        if end < 0:
            closed[kind] = False
            at += 1
            continue
        if at > told:
            yield source[told:at], False
        told = at = end + 2
        yield source[found.start() : at], True
    if told < len(source):
        yield source[told:], False
