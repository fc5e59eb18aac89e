"""Destinations in trouble and the keys of other workers, in the admin: to be looked at, closed and revoked."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from execution import destinations, worker_keys
from execution.models import Destination, WorkerKey


class LookedAt:
    """Rows that are written by others."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> list[str]:
        return [field.name for field in self.model._meta.fields]  # type: ignore[attr-defined]


@admin.register(Destination)
class DestinationAdmin(LookedAt, admin.ModelAdmin):
    list_display = ["name", "state", "failures", "error", "since", "probe_at", "answered_at"]
    list_filter = ["state"]
    search_fields = ["name"]
    actions = ["close_now"]

    @admin.action(description="Close now: take it for well, and let work for it go on", permissions=["change"])
    def close_now(self, request: HttpRequest, chosen: QuerySet[Destination]) -> None:
        names = list(chosen.values_list("name", flat=True))
        for row in chosen:
            self.log_change(request, row, "Closed by hand.")
        count = destinations.forget(names)
        self.message_user(request, f"Closed {count} destination(s): work for them goes on.", messages.SUCCESS)


@admin.register(WorkerKey)
class WorkerKeyAdmin(LookedAt, admin.ModelAdmin):
    list_display = ["name", "tasks", "tenant", "created_at", "expires_at", "revoked_at", "last_used_at"]
    list_select_related = ["tenant"]
    search_fields = ["name"]
    actions = ["revoke"]

    @admin.action(description="Revoke: no longer good from now on", permissions=["change"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[WorkerKey]) -> None:
        for key in chosen:
            worker_keys.revoke(key)
            self.log_change(request, key, "Revoked.")
        self.message_user(request, f"Revoked {len(chosen)} key(s).", messages.SUCCESS)
