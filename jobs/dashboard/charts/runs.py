"""What became of the runs of each stretch of time, as bars on top of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.safestring import SafeString

from jobs.dashboard.charts.frame import HEIGHT, framed, spread, tooltip
from jobs.dashboard.charts.scale import count_told, round_up
from jobs.states import UNFINISHED, Status
from jobs.stats.buckets import Bucket
from jobs.stats.spans import Span

STEP, BAR = 10, 8  # units from bar to bar, and of a bar
# From the ground up, with the class that colours it.
LAYERS: tuple[tuple[str, tuple[Status, ...]], ...] = (
    ("completed", (Status.COMPLETED,)),
    ("unfinished", tuple(UNFINISHED)),
    ("skipped", (Status.SKIPPED, Status.CANCELLED)),
    ("failed", (Status.FAILED,)),
)


def chart(buckets: Sequence[Bucket], span: Span) -> SafeString:
    most = round_up(max((bucket.total for bucket in buckets), default=0))
    parts = [f'<path class="{name}" d="{path}"/>' for name, path in _layers(buckets, most) if path]
    parts += _told(buckets, span)
    starts = [bucket.start for bucket in buckets]
    return framed(
        parts,
        width=STEP * len(buckets),
        says=_summary(buckets, span),
        up=[count_told(most), count_told(most / 2) if most > 1 else "", "0"],
        across=spread(starts, 5),
        clock=_form(span),
    )


def _layers(buckets: Sequence[Bucket], most: float) -> Iterator[tuple[str, str]]:
    grounds = [0.0] * len(buckets)
    for name, statuses in LAYERS:
        path = []
        for place, bucket in enumerate(buckets):
            if count := bucket.count(*statuses):
                # What is one of ten thousand is still there to be seen.
                height = max(HEIGHT * count / most, 1.5)
                bottom = HEIGHT - grounds[place]
                path.append(f"M{place * STEP + 1} {bottom:.4g}v-{height:.4g}h{BAR}v{height:.4g}z")
                grounds[place] += height
        yield name, "".join(path)


def _told(buckets: Sequence[Bucket], span: Span) -> list[str]:
    """What is said of a bar under the pointer."""
    form = _form(span)
    return [
        f'<rect class="hit" x="{place * STEP}" y="0" width="{STEP}" height="{HEIGHT}">'
        f"{tooltip(bucket.start, form, _counts(bucket))}</rect>"
        for place, bucket in enumerate(buckets)
        if bucket.counts
    ]


def _form(span: Span) -> str:
    return "second" if span.width.total_seconds() < 60 else "minute"


def _counts(bucket: Bucket) -> str:
    about = "about " if bucket.estimated else ""
    return ", ".join(f"{about}{count:,} {name}" for name, statuses in LAYERS if (count := bucket.count(*statuses)))


def _summary(buckets: Sequence[Bucket], span: Span) -> str:
    told = [f"{count:,} {name}" for name, statuses in LAYERS if (count := sum(one.count(*statuses) for one in buckets))]
    return f"Executions of the last {span.label}: {', '.join(told) or 'none'}."
