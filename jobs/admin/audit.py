"""The audit trail in the admin: who did what to which job or alert, and what that changed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.admin import ModelAdmin

from jobs.admin.lists import LongList, address_of
from jobs.admin.permissions import ReadOnly
from jobs.models import AuditEvent
from jobs.redaction import redacted
from jobs.shown import NOTHING, moment, readable

ACTIONS = ("create", "update", "pause", "resume", "run_now", "cancel", "delete", "backfill", "replay", "discard")
UNSAID = object()


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly, LongList, ModelAdmin):
    change_form_template = "admin/jobs/auditevent/change_form.html"
    list_display = ["what", "when", "subject", "actor", "tenant"]
    list_select_related = ["job", "actor", "tenant"]
    unlisted = ("before", "after", "job__payload")
    tab_param = "action__exact"
    tab_choices = [(name, name.replace("_", " ").capitalize()) for name in ACTIONS]
    indexed_params = ("job__id__exact", "tenant__id__exact")
    search_ids = ("job",)
    search_help_text = "The id of a job"
    fields = ["action", "at", "actor", "tenant", "job"]

    @admin.display(description="what")
    def what(self, event: AuditEvent) -> str:
        return event.action.replace("_", " ").capitalize()

    @admin.display(description="when")
    def when(self, event: AuditEvent) -> str:
        return moment(event.at)

    @admin.display(description="job")
    def subject(self, event: AuditEvent) -> str:
        if event.job is None:
            return NOTHING
        return format_html('<a class="p-link" href="{}">{}</a>', address_of(event.job), event.job)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        event = kwargs["obj"]
        address = address_of(event.job) if event.job else ""
        context |= {"event": event, "changes": changes(event.before, event.after), "job_address": address}
        return super().render_change_form(request, context, *args, **kwargs)


def changes(before: Any, after: Any) -> list[tuple[str, str, str]]:
    """What differs, part by part: its name, what it was, and what it became."""
    before, after = before or {}, after or {}
    names = [*before, *(name for name in after if name not in before)]
    differing = [name for name in names if before.get(name, UNSAID) != after.get(name, UNSAID)]
    return [(name, _told(before, name), _told(after, name)) for name in differing]


def _told(document: dict[str, Any], name: str) -> str:
    return readable(redacted({name: document[name]})[name]) if name in document else ""
