"""Incidents and alert rules in the admin: what is wrong, and who is told. Rules are made over the API."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.admin import ModelAdmin

from jobs.admin.lists import LongList, address_of
from jobs.admin.permissions import OPERATE_JOBS, Operable, ReadOnly
from jobs.alerts import rules
from jobs.alerts.kinds import Channel, Kind
from jobs.models import AlertRule, Incident
from jobs.shown import NOTHING, length, moment
from jobs.states import choices


@admin.register(Incident)
class IncidentAdmin(ReadOnly, LongList, ModelAdmin):
    list_display = ["title", "kind", "began", "over", "lasted", "count", "of_job", "tenant"]
    list_select_related = ["job", "tenant"]
    tab_param = "kind__exact"
    tab_choices = choices(Kind)
    indexed_params = ("job__id__exact", "tenant__id__exact")
    search_ids = ("pk", "job")
    search_help_text = "The id of an incident or of a job"
    fields = ["kind", "title", "tenant", "job", "since", "last_at", "count", "execution", "detail", "recovered_at"]

    @admin.display(description="since (UTC)")
    def began(self, incident: Incident) -> str:
        return moment(incident.since)

    @admin.display(description="over (UTC)")
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
class AlertRuleAdmin(Operable, ReadOnly, LongList, ModelAdmin):
    operate = OPERATE_JOBS
    list_display = ["name", "tenant", "channel", "whom", "kinds", "enabled", "told"]
    list_select_related = ["tenant"]
    tab_param = "channel__exact"
    tab_choices = choices(Channel)
    indexed_params = ("job__id__exact", "tenant__id__exact")
    search_ids = ("pk", "job")
    search_help_text = "The id of a rule or of a job"
    fields = ["name", "tenant", "job", "tag", "kinds", "channel", "emails", "url", "patience", "pause", "enabled"]
    actions = ["switch_on", "switch_off", "send_test"]

    @admin.display(description="whom")
    def whom(self, rule: AlertRule) -> str:
        return rule.url or ", ".join(rule.emails)

    @admin.display(description="last told (UTC)")
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
        for rule in found:
            rules.send_test(rule, actor=request.user)
        self.message_user(request, f"{len(found)} test notice(s) on their way.", messages.SUCCESS)

    def _switch(self, request: HttpRequest, chosen: QuerySet[AlertRule], *, enabled: bool) -> None:
        found = self._of_tenants(request, chosen)
        for rule in found:
            rules.update_rule(rule, {"enabled": enabled}, actor=request.user)
        self.message_user(request, f"Switched {len(found)} rule(s) {'on' if enabled else 'off'}.", messages.SUCCESS)

    def _of_tenants(self, request: HttpRequest, chosen: QuerySet[AlertRule]) -> list[AlertRule]:
        """Those that are not the settings' to change."""
        found = [rule for rule in chosen if rule.tenant_id]
        if len(found) < len(chosen):
            told = "Those without a tenant are as ALERT_EMAILS and ALERT_WEBHOOK say."
            self.message_user(request, told, messages.WARNING)
        return found
