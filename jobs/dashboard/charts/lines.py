"""How late runs started, or how long they took, over time: the middle one, and the slowest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.safestring import SafeString

from jobs.dashboard.charts.frame import HEIGHT, framed, spread
from jobs.dashboard.charts.scale import round_up, seconds_told
from jobs.stats.buckets import Bucket
from jobs.stats.percentiles import Percentiles, percentiles
from jobs.stats.spans import Span

STEP = 10  # units from bucket to bucket
NAMES = {"lateness": "Start delay", "durations": "Duration"}


def chart(buckets: Sequence[Bucket], span: Span, what: str) -> SafeString:
    """`what` names the values of a bucket."""
    known = [percentiles(getattr(bucket, what)) for bucket in buckets]
    most = round_up(max((one.p99 for one in known if one), default=0.0))
    parts = [
        f'<path class="line {name}" d="{"".join(_path(known, name, most))}"/>' for name in reversed(Percentiles._fields)
    ]
    return framed(
        parts,
        width=STEP * len(buckets),
        says=f"{NAMES[what]} over the last {span.label}: median, 95th and 99th percentile.",
        up=[seconds_told(most), seconds_told(most / 2), "0"],
        across=spread([bucket.start for bucket in buckets], 3),
        clock="second" if span.width.total_seconds() < 60 else "minute",
    )


def _path(known: Sequence[Percentiles | None], name: str, most: float) -> Iterator[str]:
    """A line that breaks where there is nothing, and a dot for what stands alone."""
    drawn = False
    for place, one in enumerate(known):
        if one is None:
            drawn = False
            continue
        x, y = place * STEP + STEP / 2, HEIGHT - (HEIGHT - 2) * getattr(one, name) / most
        yield f"L{x:g} {y:.4g}" if drawn else f"M{x:g} {y:.4g}h.01"
        drawn = True
