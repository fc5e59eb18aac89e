"""Who looks, and at whose things: a tenant of theirs, or any and all where the admin's permissions allow it.

Being staff opens the admin's door and nothing else. What staff see there without being a member is decided by their
permissions; the same permissions decide here.
"""

from __future__ import annotations

from functools import cached_property
from uuid import UUID

from django.http import Http404, HttpRequest

from accounts.models import Tenant, User
from accounts.tenancy import MAY_WRITE, membership_for, tenant_named
from jobs.admin.permissions import OPERATE_EXECUTIONS, OPERATE_JOBS
from jobs.models import Execution, Job
from jobs.models.execution import ExecutionQuerySet
from jobs.models.job import JobQuerySet

CHOSEN = "tenant"  # in the session
ALL = "all"
MOST_CHOICES = 50  # tenants to choose from
# All that the pages show of other tenants, and all that their buttons do.
SEE_ALL = ("jobs.view_job", "jobs.view_execution", "jobs.view_attempt", "jobs.view_incident")
OPERATE_ALL = (OPERATE_JOBS, OPERATE_EXECUTIONS)


class Viewer:
    def __init__(self, request: HttpRequest) -> None:
        self.user: User = request.user
        self._chosen: str | None = request.session.get(CHOSEN)

    @cached_property
    def tenants(self) -> list[Tenant]:
        """Those they belong to, the longest first."""
        return list(self.user.tenants.order_by("memberships__created_at", "memberships__id")[:MOST_CHOICES])

    @cached_property
    def sees_all(self) -> bool:
        """Whether they may look at every tenant, without being a member of it."""
        return self.user.is_staff and self.user.has_perms(SEE_ALL)

    @cached_property
    def scope(self) -> Tenant | None:
        """The tenant that is looked at; None for all of them."""
        if self._chosen == ALL and self.sees_all:
            return None
        chosen = tenant_named(self._chosen or "")
        for tenant in self.tenants:
            if chosen in (None, tenant.pk):
                return tenant
        if self.tenants:
            return self.tenants[0]
        if self.sees_all:
            return None
        return membership_for(self.user, None, to_write=False).tenant  # which raises, with the remedy

    @property
    def scope_name(self) -> str:
        """The scope as forms send it back."""
        return ALL if self.scope is None else str(self.scope.pk)

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
        if self.sees_all and self.user.has_perms(OPERATE_ALL):
            return True
        return tenant is not None and self.user.memberships.filter(tenant=tenant, role__in=MAY_WRITE).exists()

    def _found(self, thing: Job | Execution | None) -> Job | Execution:
        if thing is None or not (self.sees_all or thing.tenant_id in {one.pk for one in self.tenants}):
            raise Http404("There is no such thing, or it is not yours to see.")
        return thing


def choose(request: HttpRequest, wanted: str) -> None:
    """Look at another tenant from now on; what is not theirs is ignored."""
    viewer = Viewer(request)
    if (wanted == ALL and viewer.sees_all) or tenant_named(wanted) in {one.pk for one in viewer.tenants}:
        request.session[CHOSEN] = wanted
