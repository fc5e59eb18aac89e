"""Who may do what in the admin: look, operate, administer.

Looking is Django's permission to view. Operating is a permission of its own, for whoever runs, pauses, cancels and
replays without being allowed to change what a job is. To administer is to add, change and delete as well.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

OPERATE_JOBS = "jobs.operate_job"
OPERATE_EXECUTIONS = "jobs.operate_execution"


class Operable:
    """Of an admin whose rows people act on: the acts ask for `operate`."""

    operate = ""

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm(self.operate)

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> dict[str, Any]:
        where = () if action_location is None else (action_location,)  # Django 6.1 says on which page they are offered
        actions = super().get_actions(request, *where)
        actions.pop("delete_selected", None)  # it would bypass the services
        return actions


class ReadOnly:
    """History: to be read, never written. What changes it are the services."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


def require(request: HttpRequest, *permissions: str) -> None:
    """Refuse whoever lacks one of these."""
    if not request.user.has_perms(permissions):
        raise PermissionDenied
