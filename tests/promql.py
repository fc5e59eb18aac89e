"""Which metrics and labels an expression of Prometheus names, as far as dashboards and alerts use that language.

Prometheus answers a misspelt label with nothing, or with one series where there should be many, and never with an
error. What is written in a way that is not known here is refused, so that nothing passes unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NOT_NAMES = re.compile(
    r'"[^"]*"'  # strings
    r"|\{[^}]*\}"  # selectors
    r"|\[[^\]]*\]"  # ranges
    r"|\b(?:by|on|ignoring|without)\s*\([^)]*\)"  # labels
    r"|\b(?:and|or|unless|bool|offset)\b"
    r"|\$\w+"
)
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\b(?!\s*\()")  # what is called is a function
ITS_OWN = {"up": set[str](), "ALERTS": {"alertname", "alertstate", "severity"}}  # Prometheus's, with their labels
EVERYWHERE = {"job", "instance"}  # labels that Prometheus gives to all that it scrapes
STRING = re.compile(r'"[^"]*"')
SELECTOR = re.compile(r"([a-zA-Z_]\w*)\s*\{([^}]*)\}")
MATCHER = re.compile(r"\s*(\w+)\s*(?:=~|!~|!=|=)")
GROUPING = re.compile(r"\bby\s*\(([^)]*)\)\s*")
MATCHING = re.compile(r"\bon\s*\(([^)]*)\)")
REPLACED = re.compile(r"\blabel_replace\(")
NEW_AND_OLD = re.compile(r',\s*"(\w+)",\s*"[^"]*",\s*"(\w+)",\s*"[^"]*"$')
SETS = re.compile(r"\b(?:and|or|unless)\b")
UNKNOWN = re.compile(r"\b(?:without|ignoring|group_left|group_right|label_join)\b")


def metrics_in(expression: str) -> set[str]:
    return _all_metrics(expression) - ITS_OWN.keys()


def labels_in(expression: str) -> set[tuple[str, str]]:
    """Each metric with each label that it must have for the expression to mean anything."""
    if unknown := UNKNOWN.search(STRING.sub("", expression)):
        raise ValueError(f"Nobody checks the labels of `{unknown[0]}`. Teach it to {__name__}, or ask without it.")
    return {
        (metric, label)
        for part, labels in [
            *_selected(expression),
            *_grouped(expression),
            *_matched(expression),
            *_replaced(expression),
        ]
        for metric in _all_metrics(part)
        for label in labels - _made(part) - EVERYWHERE
    }


def labels_left(expression: str) -> set[str] | None:
    """What the series of the answer are told apart by, or None: by all that the metric has."""
    if not re.search(r"\b(?:sum|max|min|avg|count)\b", expression):
        return None
    return _made(expression).union(*(labels for _, labels in _grouped(expression)))


def _selected(expression: str) -> Iterator[tuple[str, set[str]]]:
    for metric, matchers in SELECTOR.findall(_without_strings(expression)):
        yield metric, {MATCHER.match(one)[1] for one in matchers.split(",") if one.strip()}  # type: ignore[index]


def _grouped(expression: str) -> Iterator[tuple[str, set[str]]]:
    for found in GROUPING.finditer(expression):
        if expression[found.end() : found.end() + 1] != "(":
            raise ValueError(f"Write `by (…)` before what it groups, not after it: {expression}")
        yield _within(expression, found.end()), _names(found[1])


def _matched(expression: str) -> Iterator[tuple[str, set[str]]]:
    for found in MATCHING.finditer(expression):
        before = [side for side in SETS.split(expression[: found.start()]) if side.strip()]
        yield before[-1], _names(found[1])
        yield SETS.split(expression[found.end() :])[0], _names(found[1])


def _replaced(expression: str) -> Iterator[tuple[str, set[str]]]:
    for inside, _, old in _replacements(expression):
        yield inside, {old}


def _made(expression: str) -> set[str]:
    return {new for _, new, _ in _replacements(expression)}


def _replacements(expression: str) -> Iterator[tuple[str, str, str]]:
    """What is given to each `label_replace`, the label it makes, and the one it makes it of."""
    for found in REPLACED.finditer(expression):
        inside = _within(expression, found.end() - 1)
        labels = NEW_AND_OLD.search(inside)
        assert labels, f"label_replace takes four strings: {expression}"
        yield inside[: labels.start()], labels[1], labels[2]


def _within(expression: str, opening: int) -> str:
    """What is between this parenthesis and the one that closes it."""
    open_ = 0
    for place, sign in enumerate(_without_strings(expression)[opening:], opening):
        open_ += (sign == "(") - (sign == ")")
        if not open_:
            return expression[opening + 1 : place]
    raise ValueError(f"A parenthesis is never closed: {expression}")


def _without_strings(expression: str) -> str:
    """The same, of the same length: a string may hold parentheses, braces and commas that close and part nothing."""
    return STRING.sub(lambda found: f'"{"_" * (len(found[0]) - 2)}"', expression)


def _all_metrics(expression: str) -> set[str]:
    return set(NAME.findall(NOT_NAMES.sub(" ", expression)))


def _names(labels: str) -> set[str]:
    return {label.strip() for label in labels.split(",") if label.strip()}
