"""Executions in the admin: the list, and the page that tells the whole life of one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import URLPattern, path
from django.utils.html import format_html
from unfold.admin import ModelAdmin

from jobs.admin.acts import WithActs
from jobs.admin.edit_and_replay import edit_and_replay
from jobs.admin.execution_acts import EXECUTION_ACTS, is_dead
from jobs.admin.execution_page import ExecutionPage
from jobs.admin.lists import LongList, TaskFilter, address_of
from jobs.admin.permissions import OPERATE_EXECUTIONS, Operable, ReadOnly
from jobs.models import Execution
from jobs.shown import NOTHING, badge, length, moment
from jobs.states import UNFINISHED, Cause, Status, choices


class CauseFilter(admin.SimpleListFilter):
    title = "cause"
    parameter_name = "cause"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        return choices(Cause)

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset.filter(cause=self.value()) if self.value() else queryset


@admin.register(Execution)
class ExecutionAdmin(WithActs, Operable, ReadOnly, LongList, ModelAdmin):
    operate = OPERATE_EXECUTIONS
    change_form_template = "admin/jobs/execution/change_form.html"
    list_display = ["due", "state", "of_job", "task", "tries", "took", "said"]
    list_filter = [TaskFilter, CauseFilter]
    list_select_related = ["job"]
    unlisted = ("payload", "result", "job__payload")
    tab_param = "status__exact"
    tab_choices = choices(Status)
    indexed_params = ("job__id__exact", "tenant__id__exact")
    search_ids = ("pk", "job")
    search_help_text = "The id of an execution or of a job"
    fields = ["task"]
    acts = EXECUTION_ACTS
    actions = [act.as_action() for act in EXECUTION_ACTS]

    @admin.display(description="due")
    def due(self, execution: Execution) -> str:
        return moment(execution.due_at)

    @admin.display(description="state")
    def state(self, execution: Execution) -> str:
        return badge(execution.status)

    @admin.display(description="job")
    def of_job(self, execution: Execution) -> str:
        return format_html('<a class="p-link" href="{}">{}</a>', address_of(execution.job), execution.job)

    @admin.display(description="attempt")
    def tries(self, execution: Execution) -> str:
        return str(execution.attempt or NOTHING)

    @admin.display(description="took")
    def took(self, execution: Execution) -> str:
        if not execution.started_at or not execution.finished_at:
            return NOTHING
        return length(execution.finished_at - execution.started_at)

    @admin.display(description="error or reason")
    def said(self, execution: Execution) -> str:
        told = execution.explanation
        return format_html('<span class="p-clipped" title="{}">{}</span>', told, told) if told else NOTHING

    def get_urls(self) -> list[URLPattern]:
        own = path(
            "<uuid:execution_id>/edit-and-replay/",
            self.admin_site.admin_view(edit_and_replay),
            {"model_admin": self},
            name="jobs_execution_edit_and_replay",
        )
        return [own, *super().get_urls()]

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        execution = kwargs["obj"]
        context |= {
            "page": ExecutionPage(execution),
            "acts": self.acts_for(request, execution),
            "may_edit": is_dead(execution) and self.has_operate_permission(request, execution),
            "unfinished": execution.status in UNFINISHED,
            "title": str(execution),
        }
        return super().render_change_form(request, context, *args, **kwargs)
