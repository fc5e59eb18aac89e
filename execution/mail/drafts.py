"""Django templates out of a payload: strangers' text, so they see their own data and nothing else.

They have no loaders, no tags or filters but those that shape text, and no way from a value to its methods or
attributes: a dot leads to a member of a JSON object or array, or nowhere. Steps, time and size are bounded.
"""

from __future__ import annotations

from typing import Any

from django.template import Context, Engine, TemplateSyntaxError
from django.template.base import (
    FilterExpression,
    Lexer,
    Node,
    NodeList,
    Parser,
    Template,
    TextNode,
    Token,
    Variable,
    VariableDoesNotExist,
)

from execution.mail.filters import Meter, TemplateTooLarge, allowed, meter

LONGEST_SOURCE = 200_000  # characters
MOST_TAGS = 2_000
DEEPEST = 30  # tags within tags
VIEWS = ("items", "keys", "values")  # of a JSON object, for loops


class BadTemplate(ValueError):
    """It cannot be read, or not be filled in."""


class Draft:
    """A template that can be filled in. BadTemplate if it is none, or more than it should be."""

    def __init__(self, source: str, *, autoescape: bool) -> None:
        if len(source) > LONGEST_SOURCE or sum(source.count(mark) for mark in ("{%", "{{", "|")) > MOST_TAGS:
            raise BadTemplate(f"has more than {LONGEST_SOURCE:,} characters, or {MOST_TAGS:,} tags and filters.")
        self._autoescape = autoescape
        try:
            self._template = _Template(source, engine=ENGINE)
        except TemplateSyntaxError as error:
            raise BadTemplate(f"is no template: {error}") from None
        except RecursionError:
            raise BadTemplate("is nested too deeply.") from None

    def fill_in(self, data: dict[str, Any]) -> str:
        context = Context(data, autoescape=self._autoescape, use_l10n=False, use_tz=False)
        token = meter.set(Meter())
        try:
            return str(self._template.render(context))
        except TemplateTooLarge as error:
            raise BadTemplate(str(error)) from None
        except Exception as error:
            raise BadTemplate(f"cannot be filled in: {type(error).__name__}: {error}") from error
        finally:
            meter.reset(token)


class _Template(Template):
    def compile_nodelist(self) -> NodeList:
        return _Parser(Lexer(self.source).tokenize(), {}, [LIBRARY], self.origin).parse()


class _Parser(Parser):
    _depth = 0

    def parse(self, parse_until: Any = None) -> NodeList:
        self._depth += 1
        if self._depth > DEEPEST:
            raise TemplateSyntaxError(f"tags are nested more than {DEEPEST} deep.")
        try:
            return super().parse(parse_until)
        finally:
            self._depth -= 1

    def extend_nodelist(self, nodelist: NodeList, node: Node, token: Token) -> None:
        super().extend_nodelist(nodelist, node if isinstance(node, TextNode) else _Metered(node, token), token)

    def compile_filter(self, token: str) -> FilterExpression:
        expression = super().compile_filter(token)
        expression.var = _confined(expression.var)
        expression.filters = [
            (function, [(lookup, _confined(value)) for lookup, value in args]) for function, args in expression.filters
        ]
        return expression


class _Metered(Node):
    """Another node, and what it costs."""

    def __init__(self, node: Node, token: Token) -> None:
        self.node = node
        node.token = token

    def render(self, context: Context) -> str:
        meter.get().step()
        text = self.node.render(context)
        meter.get().made(text)
        return text


class _Data(Variable):
    """A name that leads to members of the data only."""

    def _resolve_lookup(self, context: Any) -> Any:
        first, *rest = self.lookups
        try:
            value = context[first]
            for name in rest:
                value = _member(value, name)
        except (KeyError, IndexError, ValueError, TypeError):
            raise VariableDoesNotExist("There is no %s.", (self.var,)) from None
        return value


def _member(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        if name in value:
            return value[name]
        if name in VIEWS:
            return list(getattr(value, name)())
    elif isinstance(value, tuple) and name in getattr(value, "_fields", ()):  # what `regroup` makes
        return getattr(value, name)
    elif isinstance(value, (list, tuple)):
        return value[int(name)]
    raise KeyError(name)


def _confined(value: Any) -> Any:
    return _Data(value.var) if isinstance(value, Variable) else value


LIBRARY = allowed()
ENGINE = Engine(dirs=[], app_dirs=False, loaders=[], libraries={}, builtins=[], autoescape=True)
ENGINE.template_builtins = [LIBRARY]
