"""The first page: what the system is doing now."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from jobs.dashboard.charts import heat, lines, queues, runs
from jobs.dashboard.filters import Filters
from jobs.dashboard.windows import shown, window
from jobs.stats.snapshot import snapshots
from jobs.stats.spans import SPANS


@window
def overview(request: HttpRequest) -> HttpResponse:
    scope = request.viewer.scope
    filters = Filters(request.GET, ("span",))
    span = SPANS.get(filters.choice("span", SPANS)) or snapshots.usual_span(scope)
    now = snapshots.of(scope, span)
    context = {
        "now": now,
        "faults": filters.faults,
        "spans": SPANS.values(),
        "runs": runs.chart(now.buckets, now.span),
        "lateness": lines.chart(now.buckets, now.span, "lateness"),
        "duration": lines.chart(now.buckets, now.span, "durations"),
        "queues": queues.chart(now.unfinished.lines),
        "heat": heat.chart(now.load) if now.load else "",
        "page": "overview",
    }
    return shown(request, "dashboard/overview.html", context)
