"""Incidents and alert rules in the admin: what is wrong, and who is notified."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.admin import ModelAdmin

from accounts.attempts import TooManyAttempts
from accounts.mail_rights import MailRefused
from accounts.quota import QuotaExceeded
from jobs.admin.acts import KeepsInput
from jobs.admin.alert_form import FIELDS, AlertRuleForm
from jobs.admin.lists import LongList, address_of
from jobs.admin.permissions import OPERATE_JOBS, Operable, ReadOnly
from jobs.alerts import rules
from jobs.alerts.kinds import Channel, Kind
from jobs.models import AlertRule, Incident
from jobs.shown import NOTHING, length, moment
from jobs.states import IllegalMove, choices

REFUSALS = (MailRefused, TooManyAttempts, IllegalMove, rules.InvalidRule)  # of an act on one rule


@admin.register(Incident)
class IncidentAdmin(ReadOnly, LongList, ModelAdmin):
    list_display = ["title", "kind", "began", "over", "lasted", "count", "of_job", "tenant"]
    list_select_related = ["job", "tenant"]
    unlisted = ("job__payload",)
    tab_param = "kind__exact"
    tab_choices = choices(Kind)
    indexed_params = ("job__id__exact", "tenant__id__exact")
    search_ids = ("pk", "job")
    search_help_text = "The id of an incident or of a job"
    fields = ["kind", "title", "tenant", "job", "since", "last_at", "count", "execution", "detail", "recovered_at"]

    @admin.display(description="since")
    def began(self, incident: Incident) -> str:
        return moment(incident.since)

    @admin.display(description="over")
    def over(self, incident: Incident) -> str:
        return moment(incident.recovered_at)

    @admin.display(description="lasted")
    def lasted(self, incident: Incident) -> str:
        return length(incident.recovered_at - incident.since) if incident.recovered_at else NOTHING

    @admin.display(description="job")
    def of_job(self, incident: Incident) -> str:
        if incident.job is None:
            return NOTHING
        return format_html('<a class="p-link" href="{}">{}</a>', address_of(incident.job), incident.job)


@admin.register(AlertRule)
class AlertRuleAdmin(KeepsInput, Operable, LongList, ModelAdmin):
    operate = OPERATE_JOBS
    refusals = (QuotaExceeded, MailRefused, rules.InvalidRule)
    form = AlertRuleForm
    autocomplete_fields = ["tenant"]
    list_display = ["name", "tenant", "channel", "whom", "events", "enabled", "told"]
    list_select_related = ["tenant"]
    tab_param = "channel__exact"
    tab_choices = choices(Channel)
    indexed_params = ("job__id__exact", "tenant__id__exact")
    search_ids = ("pk", "job")
    search_help_text = "The id of a rule or of a job"
    fields = ["name", "tenant", *FIELDS[1:]]
    actions = ["switch_on", "switch_off", "send_test"]

    def has_change_permission(self, request: HttpRequest, obj: AlertRule | None = None) -> bool:
        return (obj is None or obj.tenant_id is not None) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: AlertRule | None = None) -> bool:
        return (obj is None or obj.tenant_id is not None) and super().has_delete_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: AlertRule | None = None) -> list[str]:
        return ["tenant"] if obj else []

    def get_fields(self, request: HttpRequest, obj: AlertRule | None = None) -> list[str]:
        """To those who may only look: what is stored, in which the secret is sealed."""
        fields = list(super().get_fields(request, obj))
        return fields if self._writes(request, obj) else [name for name in fields if name != "secret"]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"tenant": request.user.tenants.order_by("memberships__created_at").first()}

    def save_model(self, request: HttpRequest, obj: AlertRule, form: AlertRuleForm, change: bool) -> None:
        if change:
            saved = rules.update_rule(obj, form.values(), actor=request.user)
        else:
            saved = rules.create_rule(form.values(), tenant=form.cleaned_data["tenant"], actor=request.user)
        obj.__dict__.update(saved.__dict__)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple:
        """The notices of a rule go with it; Django would ask for a permission to delete them."""
        return [str(rule) for rule in objs], {}, set(), []

    def delete_model(self, request: HttpRequest, obj: AlertRule) -> None:
        rules.delete_rule(obj, actor=request.user)

    def _writes(self, request: HttpRequest, obj: AlertRule | None) -> bool:
        return self.has_change_permission(request, obj) if obj else self.has_add_permission(request)

    @admin.display(description="whom")
    def whom(self, rule: AlertRule) -> str:
        return rule.url or ", ".join(rule.emails)

    @admin.display(description="events")
    def events(self, rule: AlertRule) -> str:
        return ", ".join(rule.kinds)

    @admin.display(description="last told")
    def told(self, rule: AlertRule) -> str:
        return moment(rule.told_at)

    @admin.action(description="Switch on", permissions=["operate"])
    def switch_on(self, request: HttpRequest, chosen: QuerySet[AlertRule]) -> None:
        self._switch(request, chosen, enabled=True)

    @admin.action(description="Switch off: nothing is told until it is switched on", permissions=["operate"])
    def switch_off(self, request: HttpRequest, chosen: QuerySet[AlertRule]) -> None:
        self._switch(request, chosen, enabled=False)

    @admin.action(description="Send a test notice", permissions=["operate"])
    def send_test(self, request: HttpRequest, chosen: QuerySet[AlertRule]) -> None:
        found = self._of_tenants(request, chosen.enabled())
        count = self._each(request, found, lambda rule: rules.send_test(rule, actor=request.user))
        self.message_user(request, f"{count} test notice(s) on their way.", messages.SUCCESS)

    def _switch(self, request: HttpRequest, chosen: QuerySet[AlertRule], *, enabled: bool) -> None:
        found = self._of_tenants(request, chosen)
        count = self._each(
            request, found, lambda rule: rules.update_rule(rule, {"enabled": enabled}, actor=request.user)
        )
        self.message_user(request, f"Switched {count} rule(s) {'on' if enabled else 'off'}.", messages.SUCCESS)

    def _each(self, request: HttpRequest, found: Iterable[AlertRule], act: Callable[[AlertRule], Any]) -> int:
        """Act on each; tell of those that are refused, and return how many were not."""
        count = 0
        for rule in found:
            try:
                act(rule)
                count += 1
            except REFUSALS as error:
                self.message_user(request, f"{rule.name}: {getattr(error, 'detail', error)}", messages.ERROR)
        return count

    def _of_tenants(self, request: HttpRequest, chosen: QuerySet[AlertRule]) -> list[AlertRule]:
        """Those that are not the settings' to change."""
        found = [rule for rule in chosen if rule.tenant_id]
        if len(found) < len(chosen):
            told = "Those without a tenant are as ALERT_EMAILS and ALERT_WEBHOOK say."
            self.message_user(request, told, messages.WARNING)
        return found
