"""Jobs and their history in the admin. Every act goes through the same services as the API's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from accounts.quota import QuotaExceeded
from jobs import dead_letters, services
from jobs.admin_forms import JobForm
from jobs.admin_lists import BoundedList, TaskFilter
from jobs.models import Attempt, AuditEvent, Execution, Job
from jobs.redaction import redacted
from jobs.states import IllegalMove
from jobs.timeline import timeline


class ReadOnly:
    """History: to be read, never written."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


def job_action(description: str, act: Callable[..., Any]) -> Callable[..., None]:
    """An admin action that does `act` to each chosen job, and says how that went."""

    @admin.action(description=description, permissions=["change"])
    def run(model_admin: admin.ModelAdmin, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        done = 0
        for job in jobs:
            try:
                outcome = act(job, actor=request.user)
                done += 1
                if isinstance(outcome, services.Resumed) and outcome.missed.count:
                    model_admin.message_user(request, f"{job}: {outcome.missed.outcome}", messages.INFO)
            except (IllegalMove, QuotaExceeded, Job.DoesNotExist) as error:
                model_admin.message_user(request, f"{job}: {error}", messages.WARNING)
        model_admin.message_user(request, f"{description}: done for {done} job(s).", messages.SUCCESS)

    run.__name__ = act.__name__
    return run


@admin.register(Job)
class JobAdmin(BoundedList, admin.ModelAdmin):
    form = JobForm
    list_display = ["__str__", "task", "status", "priority", "next_run_at", "tenant"]
    list_filter = ["status", "priority", TaskFilter]
    list_select_related = ["tenant"]
    search_fields = ["name", "id"]
    autocomplete_fields = ["tenant"]
    readonly_fields = ["status", "next_run_at", "owner", "created_at", "updated_at"]
    actions = [
        job_action("Pause", services.pause_job),
        job_action("Resume", services.resume_job),
        job_action("Run now", services.run_job_now),
        job_action("Cancel", services.cancel_job),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return super().get_queryset(request).kept()

    def get_actions(self, request: HttpRequest) -> dict:
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)  # it would bypass the services
        return actions

    def get_readonly_fields(self, request: HttpRequest, obj: Job | None = None) -> list[str]:
        return [*self.readonly_fields, "tenant"] if obj else self.readonly_fields

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except QuotaExceeded as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(request.path)

    def save_model(self, request: HttpRequest, obj: Job, form: JobForm, change: bool) -> None:
        fields = form.cleaned_data
        if not change:
            tenant = fields.pop("tenant")
            created = services.create_job(services.NewJob(**fields), tenant=tenant, actor=request.user)
            obj.__dict__.update(created.__dict__)
        elif changes := {name: fields[name] for name in form.changed_data if fields[name] != form.initial[name]}:
            obj.__dict__.update(services.update_job(obj, changes, actor=request.user).__dict__)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple:
        """What goes with a job: nothing. Django would count its history, which stays."""
        return [str(job) for job in objs], {}, set(), []

    def delete_model(self, request: HttpRequest, obj: Job) -> None:
        services.delete_job(obj, actor=request.user)


def dead_letter_action(description: str, act: Callable[..., int], done: str) -> Callable[..., None]:
    """An admin action that does `act` to the dead letters among the chosen executions, and says to how many."""

    @admin.action(description=description, permissions=["dead_letters"])
    def run(model_admin: admin.ModelAdmin, request: HttpRequest, executions: QuerySet[Execution]) -> None:
        chosen = executions.count()
        count = act(executions, actor=request.user)
        model_admin.message_user(request, f"{done} {count} dead letter(s).", messages.SUCCESS)
        if count < chosen:
            told = f"{chosen - count} of those chosen were passed over: no dead letters, or of a job that has ended."
            model_admin.message_user(request, told, messages.WARNING)

    run.__name__ = act.__name__
    return run


class AttemptInline(ReadOnly, admin.StackedInline):
    model = Attempt
    extra = 0
    fields = ["number", "outcome", "error", "worker", "started_at", "finished_at", "traceback"]


@admin.register(Execution)
class ExecutionAdmin(ReadOnly, BoundedList, admin.ModelAdmin):
    list_display = ["id", "job", "task", "status", "attempt", "due_at", "started_at", "finished_at", "error"]
    list_filter = ["status", ("discarded_at", admin.EmptyFieldListFilter), TaskFilter, "cause"]
    list_select_related = ["job"]
    search_fields = ["id", "job__id"]
    fields = ["id", "job", "tenant", "task", "priority", "cause", "status", "attempt", "history"]
    fields += ["worker", "effective_payload", "result", "error", "discarded_at", "reason"]
    fields += ["waits_for", "covers_until"]
    inlines = [AttemptInline]
    actions = [
        dead_letter_action("Replay", dead_letters.replay, "Replayed"),
        dead_letter_action("Discard", dead_letters.discard, "Discarded"),
    ]

    def has_dead_letters_permission(self, request: HttpRequest) -> bool:
        """The rows are read-only even for those who may do this: what changes them are the services."""
        return request.user.has_perm("jobs.change_execution")

    @admin.display(description="timeline")
    def history(self, execution: Execution) -> str:
        return "\n".join(
            f"{moment.at:%Y-%m-%d %H:%M:%S.%f}  {moment.event} {moment.detail}" for moment in timeline(execution)
        )

    @admin.display(description="payload")
    def effective_payload(self, execution: Execution) -> str:
        return json.dumps(redacted(execution.effective_payload), indent=2, ensure_ascii=False)


@admin.register(Attempt)
class AttemptAdmin(ReadOnly, BoundedList, admin.ModelAdmin):
    list_display = ["execution", "number", "outcome", "error", "worker", "finished_at"]
    list_filter = ["outcome"]
    list_select_related = ["execution"]
    search_fields = ["execution__id", "error"]


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly, BoundedList, admin.ModelAdmin):
    list_display = ["at", "action", "job", "actor", "tenant"]
    list_filter = ["action"]
    list_select_related = ["job", "actor", "tenant"]
