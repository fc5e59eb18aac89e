"""Which metrics an expression of Prometheus names, as far as dashboards and alerts use that language."""

from __future__ import annotations

import re

NOT_NAMES = re.compile(
    r'"[^"]*"'  # strings
    r"|\{[^}]*\}"  # selectors
    r"|\[[^\]]*\]"  # ranges
    r"|\b(?:by|on|ignoring|without)\s*\([^)]*\)"  # labels
    r"|\b(?:and|or|unless|bool|offset)\b"
    r"|\$\w+"
)
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\b(?!\s*\()")  # what is called is a function
ITS_OWN = {"up", "ALERTS"}  # Prometheus's


def metrics_in(expression: str) -> set[str]:
    return set(NAME.findall(NOT_NAMES.sub(" ", expression))) - ITS_OWN
