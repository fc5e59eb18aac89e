"""What is wrong now and nobody's own fault: due times that were missed, work that waits, processes that are gone."""

from __future__ import annotations

from accounts.models import Tenant
from jobs.alerts.kinds import FOR_OPERATORS
from jobs.models import Incident

SHOWN = 5


def open_incidents(scope: Tenant | None) -> list[Incident]:
    """The latest, and one more than are shown where there are more. Of the system, only who sees everybody is told.

    By the index of what is open, which is mostly next to nothing, and never more than watchers look at.
    """
    wrong = Incident.objects.open().of_kind(*FOR_OPERATORS)
    wrong = wrong if scope is None else wrong.for_tenant(scope)
    return list(wrong.order_by("-id")[: SHOWN + 1])
