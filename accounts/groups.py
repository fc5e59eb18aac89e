"""Who may do what in the admin, as three groups that each have all of the one before.

To look: every list and page. To operate: run, pause, resume, cancel, backfill, replay, discard. To administer: make,
change and delete jobs and alert rules, and say who belongs where. Superusers need none of them.
"""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models import Q

VIEWERS = "Viewers"
OPERATORS = "Operators"
ADMINISTRATORS = "Administrators"

_LOOK = (
    *("jobs.view_job", "jobs.view_execution", "jobs.view_attempt", "jobs.view_auditevent"),
    *("jobs.view_incident", "jobs.view_alertrule"),
    *("accounts.view_tenant",),
)
_OPERATE = (*_LOOK, "jobs.operate_job", "jobs.operate_execution")
_ADMINISTER = (
    *_OPERATE,
    *(f"jobs.{verb}_{noun}" for noun in ("job", "alertrule") for verb in ("add", "change", "delete")),
    *(f"accounts.{verb}_{noun}" for noun in ("tenant", "membership") for verb in ("view", "add", "change", "delete")),
    *("accounts.view_user",),  # and no more: whoever may change users could make themselves anything
)
GROUPS = {VIEWERS: _LOOK, OPERATORS: _OPERATE, ADMINISTRATORS: _ADMINISTER}


@transaction.atomic
def make_groups() -> list[Group]:
    """Make the groups, or give those that are there exactly what they should have."""
    groups = []
    for name, permissions in GROUPS.items():
        group, _ = Group.objects.get_or_create(name=name)
        group.permissions.set(_found(permissions))
        groups.append(group)
    return groups


def _found(names: tuple[str, ...]) -> list[Permission]:
    wanted = Q(pk__in=[])
    for name in names:
        app, codename = name.split(".")
        wanted |= Q(content_type__app_label=app, codename=codename)
    found = list(Permission.objects.filter(wanted).select_related("content_type"))
    missing = set(names) - {f"{one.content_type.app_label}.{one.codename}" for one in found}
    if missing:
        raise LookupError(f"No such permissions: {', '.join(sorted(missing))}. Run `manage.py migrate` first.")
    return found
