"""Django templates out of a payload: strangers' text, so they see their own data and nothing else.

They have no loaders, no tags or filters but those that shape text, and no way from a value to its methods or
attributes: a dot leads to a member of a JSON object or array, or nowhere. The templates of one mail have one budget:
for reading them, of characters, tags and filters; for filling them in, of work and memory (see `execution.mail.meter`).
"""

from __future__ import annotations

from typing import Any

from django.template import Context, Engine, TemplateSyntaxError
from django.template.base import (
    FilterExpression,
    Node,
    NodeList,
    Parser,
    Template,
    Token,
    TokenType,
    Variable,
    VariableDoesNotExist,
)
from django.template.defaulttags import ForNode, NowNode, RegroupNode

from execution.mail.filters import LABOR, allowed
from execution.mail.lexing import LinearLexer
from execution.mail.meter import Counted, Meter, TemplateTooLarge, current_meter, metered

MAX_SOURCE = 400_000  # characters, of all templates of a mail
MAX_TAGS = 3_000  # tags, values and filters, of all templates of a mail: each costs 10 µs to read
MAX_DEPTH = 30  # tags within tags
VIEWS = ("items", "keys", "values")  # of a JSON object, for loops


class BadTemplate(ValueError):
    """It cannot be read, or not be filled in. `field` is the part of the mail that it is."""

    def __init__(self, told: str, field: str = "") -> None:
        super().__init__(told)
        self.field = field


class Drafts:
    """The templates of one mail, by field. BadTemplate if one of them is none, or all are more than they should be."""

    def __init__(self, sources: dict[str, str]) -> None:
        budget = Budget()
        self._drafts = {field: Draft(source, budget, field) for field, source in sources.items()}

    def fill_in(self, data: dict[str, Any], meter: Meter) -> dict[str, str]:
        return {field: draft.fill_in(data, meter, autoescape=field == "html") for field, draft in self._drafts.items()}


class Budget:
    """What may be read of the templates of one mail."""

    def __init__(self) -> None:
        self._characters = MAX_SOURCE
        self._tags = MAX_TAGS

    def take_source(self, source: str) -> None:
        self._characters -= len(source)
        if self._characters < 0:
            raise TemplateSyntaxError(f"the templates have more than {MAX_SOURCE:,} characters together.")

    def take_tags(self, count: int = 1) -> None:
        self._tags -= count
        if self._tags < 0:
            raise TemplateSyntaxError(f"the templates have more than {MAX_TAGS:,} tags and filters together.")


class Draft:
    """One template, read at the cost of the mail's budget."""

    def __init__(self, source: str, budget: Budget, field: str = "") -> None:
        self._field = field
        try:
            with metered(Meter()):  # `verbatim` is filled in as it is read
                budget.take_source(source)
                self._template = _Template(source, budget)
        except (TemplateSyntaxError, TemplateTooLarge) as error:
            raise BadTemplate(f"is not a valid template: {str(error)[:LONGEST_TOLD]}", field) from None
        except RecursionError:
            raise BadTemplate("is nested too deeply.", field) from None

    def fill_in(self, data: dict[str, Any], meter: Meter, *, autoescape: bool) -> str:
        context = Context(data, autoescape=autoescape, use_l10n=False, use_tz=False)
        try:
            with metered(meter):
                return str(self._template.render(context))
        except TemplateTooLarge as error:
            raise BadTemplate(f"cannot be filled in: {error}", self._field) from None
        except MemoryError:
            raise  # another handler may have used the memory: the runner finds out which one
        except Exception as error:
            told = f"cannot be filled in: {type(error).__name__}: {error}"
            raise BadTemplate(told[:LONGEST_TOLD], self._field) from error


class _Template(Template):
    def __init__(self, source: str, budget: Budget) -> None:
        self._budget = budget
        super().__init__(source, engine=ENGINE)

    def compile_nodelist(self) -> NodeList:
        tokens = LinearLexer(self.source).tokenize()
        self._budget.take_tags(sum(token.token_type in COUNTED for token in tokens))
        return _Parser(tokens, self._budget, self.origin).parse()


class _Parser(Parser):
    def __init__(self, tokens: list[Token], budget: Budget, origin: Any) -> None:
        super().__init__(tokens, {}, [LIBRARY], origin)
        self._budget = budget
        self._depth = 0

    def parse(self, parse_until: Any = None) -> NodeList:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TemplateSyntaxError(f"tags are nested more than {MAX_DEPTH} deep.")
        try:
            return super().parse(parse_until)
        finally:
            self._depth -= 1

    def extend_nodelist(self, nodelist: NodeList, node: Node, token: Token) -> None:
        if isinstance(node, ForNode):
            node.sequence = _Sequence(node.sequence)
        elif isinstance(node, RegroupNode):
            node.target = _Sequence(node.target)
        super().extend_nodelist(nodelist, _Metered(node, token), token)

    def compile_filter(self, token: str) -> FilterExpression:
        self._budget.take_tags(1 + token.count("|"))
        expression = _Expression(token, self)
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
        current_meter().step(LABOR if isinstance(self.node, NowNode) else 1)
        text = self.node.render(context)
        current_meter().made(text)
        return text


class _Expression(FilterExpression):
    """A value with its filters, and what it costs to write it out or to compare it."""

    __slots__ = ()

    def resolve(self, context: Context, ignore_failures: bool = False) -> Any:
        value = super().resolve(context, ignore_failures)
        current_meter().look_through(value)
        return value


class _Sequence:
    """An expression whose value is gone through."""

    def __init__(self, expression: FilterExpression) -> None:
        self._expression = expression

    def resolve(self, context: Context, ignore_failures: bool = False) -> Any:
        value = self._expression.resolve(context, ignore_failures)
        return Counted(value) if isinstance(value, (str, list, tuple, dict)) else value


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


COUNTED = (TokenType.BLOCK, TokenType.COMMENT)  # a value is counted with its filters
LONGEST_TOLD = 400  # characters: Django quotes what it cannot read
LIBRARY = allowed()
ENGINE = Engine(dirs=[], app_dirs=False, loaders=[], libraries={}, builtins=[], autoescape=True)
ENGINE.template_builtins = [LIBRARY]
