"""Jobs in the admin: the list, the form with its previews, and the page that tells how a job is doing."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from unfold.admin import ModelAdmin

from jobs import services
from jobs.admin.acts import KeepsInput, WithActs
from jobs.admin.backfill import backfill_view
from jobs.admin.forms import JobForm
from jobs.admin.job_acts import JOB_ACTS, REFUSALS
from jobs.admin.job_page import JobPage
from jobs.admin.lists import LongList, TaskFilter, identifier
from jobs.admin.permissions import OPERATE_JOBS, Operable
from jobs.admin.preview import minute_load, preview_schedule
from jobs.audit import LIMITS, POLICIES
from jobs.models import Job
from jobs.numbers import read_whole_number
from jobs.shown import NOTHING, badge, moment
from jobs.states import JobStatus, Priority, choices

COPIED = ("name", "tags", "task", "payload", "schedule", "priority", *LIMITS, *POLICIES)


class PriorityFilter(admin.SimpleListFilter):
    title = "priority"
    parameter_name = "priority"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        return choices(Priority)

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        priority = read_whole_number(self.value())
        if priority not in list(Priority):
            raise IncorrectLookupParameters(f"Unknown priority: {self.value()[:20]}")
        return queryset.filter(priority=priority)


@admin.register(Job)
class JobAdmin(KeepsInput, WithActs, Operable, LongList, ModelAdmin):
    operate = OPERATE_JOBS
    refusals = REFUSALS
    form = JobForm
    change_form_template = "admin/jobs/job/change_form.html"
    list_display = ["title", "state", "task", "labels", "next_run", "urgency", "tenant"]
    list_filter = [PriorityFilter, TaskFilter]
    list_select_related = ["tenant"]
    unlisted = ("payload",)
    tab_param = "status__exact"
    tab_choices = choices(JobStatus)
    indexed_params = ("tenant__id__exact",)
    search_ids = ("pk",)
    search_texts = ("name",)
    search_help_text = "A name, or an id"
    autocomplete_fields = ["tenant"]
    acts = JOB_ACTS
    actions = [act.as_action() for act in JOB_ACTS]
    compressed_fields = False
    fieldsets = [
        (None, {"fields": ["name", "tags", "tenant"]}),
        ("What it runs", {"fields": ["task", "payload"]}),
        ("When it runs", {"fields": ["schedule"]}),
        ("Priority, retries and limits", {"fields": ["priority", *LIMITS], "classes": ["collapse"]}),
        ("Late and overlapping runs", {"fields": [*POLICIES], "classes": ["collapse"]}),
    ]

    @admin.display(description="job")
    def title(self, job: Job) -> str:
        return str(job)

    @admin.display(description="tags")
    def labels(self, job: Job) -> str:
        return ", ".join(job.tags) or NOTHING

    @admin.display(description="state")
    def state(self, job: Job) -> str:
        return badge(job.status)

    @admin.display(description="next run")
    def next_run(self, job: Job) -> str:
        return moment(job.next_run_at)

    @admin.display(description="priority")
    def urgency(self, job: Job) -> str:
        return Priority(job.priority).name.capitalize() if job.priority in list(Priority) else str(job.priority)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return super().get_queryset(request).kept().select_related("tenant")

    def get_readonly_fields(self, request: HttpRequest, obj: Job | None = None) -> list[str]:
        return ["tenant"] if obj else []

    def get_urls(self) -> list[URLPattern]:
        guarded = self.admin_site.admin_view
        return [
            path("preview/", guarded(preview_schedule), name="jobs_job_preview"),
            path("load/", guarded(minute_load), name="jobs_job_load"),
            path("<uuid:job_id>/backfill/", guarded(backfill_view), {"model_admin": self}, name="jobs_job_backfill"),
            *super().get_urls(),
        ]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new job belongs to one's own tenant; a copy has all that the other job has."""
        initial = {"tenant": request.user.tenants.order_by("memberships__created_at").first()}
        copied = identifier(request.GET.get("copy", ""))
        if (
            copied
            and self.has_view_permission(request)
            and (job := self.get_queryset(request).filter(pk=copied).first())
        ):
            initial |= {name: getattr(job, name) for name in COPIED} | {"tenant": job.tenant_id}
            initial["name"] = f"{job.name} (copy)"[:200] if job.name else ""
        return initial

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        job = kwargs.get("obj")
        if job is not None:
            context |= {
                "page": JobPage(job),
                "acts": self.acts_for(request, job),
                "nothing": NOTHING,
            }
            context["may_operate"] = self.has_operate_permission(request, job)
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Job, form: JobForm, change: bool) -> None:
        fields = form.cleaned_data
        if not change:
            tenant = fields.pop("tenant")
            created = services.create_job(services.NewJob(**fields), tenant=tenant, actor=request.user)
            obj.__dict__.update(created.__dict__)
        elif changes := {name: fields[name] for name in form.changed_data if fields[name] != form.initial[name]}:
            obj.__dict__.update(services.update_job(obj, changes, actor=request.user).__dict__)

    def response_add(self, request: HttpRequest, obj: Job, post_url_continue: str | None = None) -> HttpResponse:
        """To the new job's own page: what one wants to see next is whether it runs."""
        if not {"_addanother", "_popup"} & set(request.POST):
            request.POST = request.POST.copy()
            request.POST["_continue"] = "1"
        return super().response_add(request, obj, post_url_continue)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple:
        """What goes with a job: nothing. Django would count its history, which stays."""
        return [str(job) for job in objs], {}, set(), []

    def delete_model(self, request: HttpRequest, obj: Job) -> None:
        services.delete_job(obj, actor=request.user)
