"""A plot with its labels around it. Pure, but for Django's mark that text is safe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

HEIGHT = 100  # units of a plot, whatever its size on the screen
GRID = "".join(f'<path class="grid" d="M0 {y}H{{width}}"/>' for y in (0.5, 50, 99.5))


def framed(
    parts: Iterable[str], *, width: int, says: str, up: Sequence[str], across: Sequence[datetime], clock: str = "minute"
) -> SafeString:
    """`up` are the labels of the axis, from the top; `across` the times below it, from the left."""
    labels = "".join(f"<span>{escape(label)}</span>" for label in up)
    times = "".join(moment(at, clock) for at in across)
    return mark_safe(
        f'<div class="plot"><div class="up" aria-hidden="true">{labels}</div>'
        f'<svg role="img" aria-label="{escape(says)}" viewBox="0 0 {width} {HEIGHT}" preserveAspectRatio="none">'
        f"{GRID.format(width=width)}{''.join(parts)}</svg>"
        f'<div class="across" aria-hidden="true">{times}</div></div>'
    )


def moment(at: datetime, form: str) -> str:
    """A time that the browser writes in its own zone; until then it is UTC's."""
    shown = {"second": f"{at:%H:%M:%S}", "minute": f"{at:%H:%M}"}[form]
    return f'<time datetime="{at.isoformat()}" data-form="{form}">{shown}</time>'


def tooltip(at: datetime, form: str, text: str) -> str:
    """What is shown under the pointer: the script replaces the time in UTC with the reader's own."""
    shown = {"second": f"{at:%H:%M:%S}", "minute": f"{at:%H:%M}", "full": f"{at:%Y-%m-%d %H:%M:%S}"}[form]
    return f'<title data-at="{int(at.timestamp())}" data-form="{form}">{shown} UTC: {escape(text)}</title>'


def spread(starts: Sequence[datetime], labels: int) -> list[datetime]:
    """Some of the times, evenly, with the first and the last."""
    last = len(starts) - 1
    return [starts[round(last * number / (labels - 1))] for number in range(labels)]
