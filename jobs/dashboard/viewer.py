"""Who looks, and at whose things: a tenant of theirs, or for staff any and all of them."""

from __future__ import annotations

from functools import cached_property
from uuid import UUID

from django.http import Http404, HttpRequest

from accounts.models import Tenant, User
from accounts.tenancy import MAY_WRITE, membership_for, tenant_named
from jobs.models import Execution, Job
from jobs.models.execution import ExecutionQuerySet
from jobs.models.job import JobQuerySet

CHOSEN = "tenant"  # in the session
ALL = "all"
MOST_CHOICES = 50  # tenants to choose from


class Viewer:
    def __init__(self, request: HttpRequest) -> None:
        self.user: User = request.user
        self._chosen: str | None = request.session.get(CHOSEN)

    @cached_property
    def tenants(self) -> list[Tenant]:
        """Those they belong to, the longest first."""
        return list(self.user.tenants.order_by("memberships__created_at", "memberships__id")[:MOST_CHOICES])

    @cached_property
    def scope(self) -> Tenant | None:
        """The tenant that is looked at; None for all of them."""
        if self._chosen == ALL and self.user.is_staff:
            return None
        chosen = tenant_named(self._chosen or "")
        for tenant in self.tenants:
            if chosen in (None, tenant.pk):
                return tenant
        if self.tenants:
            return self.tenants[0]
        if self.user.is_staff:
            return None
        return membership_for(self.user, None, to_write=False).tenant  # which raises, with the remedy

    @property
    def jobs(self) -> JobQuerySet:
        jobs = Job.objects.kept()
        return jobs if self.scope is None else jobs.for_tenant(self.scope)

    @property
    def executions(self) -> ExecutionQuerySet:
        return Execution.objects.all() if self.scope is None else Execution.objects.for_tenant(self.scope)

    def job(self, pk: UUID) -> Job:
        """A job they may see, whichever of their tenants it is in."""
        return self._found(Job.objects.kept().select_related("owner", "tenant").filter(pk=pk).first())

    def execution(self, pk: UUID) -> Execution:
        return self._found(Execution.objects.select_related("job", "tenant").filter(pk=pk).first())

    def may_change(self, tenant: Tenant | None) -> bool:
        """Whether they may do more than look; of None, in the scope."""
        if self.user.has_perm("jobs.change_job"):
            return True
        return tenant is not None and self.user.memberships.filter(tenant=tenant, role__in=MAY_WRITE).exists()

    def _found(self, thing: Job | Execution | None) -> Job | Execution:
        if thing is None or not (self.user.is_staff or thing.tenant_id in {one.pk for one in self.tenants}):
            raise Http404("There is no such thing, or it is not yours to see.")
        return thing


def choose(request: HttpRequest, wanted: str) -> None:
    """Look at another tenant from now on; what is not theirs is ignored."""
    viewer = Viewer(request)
    if (wanted == ALL and viewer.user.is_staff) or tenant_named(wanted) in {one.pk for one in viewer.tenants}:
        request.session[CHOSEN] = wanted
