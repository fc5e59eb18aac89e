"""Places in traces: how they are written, and those that need not be written down because they can be derived. Pure."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import NamedTuple

# https://www.w3.org/TR/trace-context/: a later version may add to it, and what is added is none of our business.
WRITTEN = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
SAMPLED = 1


class Place(NamedTuple):
    """A span, as others refer to it."""

    trace: int
    span: int
    sampled: bool = True

    def __str__(self) -> str:
        return f"00-{self.trace:032x}-{self.span:016x}-{int(self.sampled):02x}"


def read_place(traceparent: str | None) -> Place | None:
    """The place that a traceparent names; None where there is none, or none that can be read."""
    found = WRITTEN.fullmatch(traceparent) if traceparent else None
    if found is None:
        return None
    trace, span, flags = (int(digits, 16) for digits in found.groups())
    return Place(trace, span, bool(flags & SAMPLED))


def derived_trace(identity: bytes) -> int:
    """The same trace for the same identity, whoever asks. Samplers go by its bits, so they are evenly spread."""
    return _derived(b"trace" + identity, 16)


def derived_span(identity: bytes, number: int) -> int:
    """The same span for the same identity and number."""
    return _derived(b"span" + number.to_bytes(4, "big") + identity, 8)


def _derived(identity: bytes, size: int) -> int:
    return int.from_bytes(blake2b(identity, digest_size=size).digest(), "big") or 1  # 0 stands for none
