"""How long most of them took, and how long the slowest did. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple


class Percentiles(NamedTuple):
    """Seconds."""

    p50: float
    p95: float
    p99: float


def percentiles(values: Sequence[float]) -> Percentiles | None:
    """Of each, the least value that so many are no greater than; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return Percentiles(*(ordered[ceil(share * len(ordered)) - 1] for share in (0.50, 0.95, 0.99)))
