"""The admin's job form: the same checks as the API's, each told beside its field."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.mail_rights import MailRefused
from execution.registry import InvalidPayload, UnknownTask, registry
from jobs.admin.editors import PayloadEditor, ScheduleEditor
from jobs.audit import LIMITS, POLICIES
from jobs.clock import database_now
from jobs.documents import UnstorableDocument, check_document
from jobs.models import Job
from jobs.new_jobs import IMMEDIATELY
from jobs.payloads import Stored, accepted, usable_task
from jobs.policies import LONGEST_WINDOW, MOST_CAUGHT_UP, InvalidPolicy, Misfire, Overlap, check_policies, recurs
from jobs.redaction import redacted
from jobs.services import LONGEST, MOST_RETRIES, SHORTEST_LEASE
from jobs.states import JobStatus, Priority, choices
from jobs.terms import InvalidTags, read_tags
from scheduling.recurrence import InvalidSchedule, parse_schedule

NOBODY = UUID(int=0)  # whose a payload is while no tenant was chosen: it is only looked at


def task_choices() -> list[tuple[str, str]]:
    return [(name, name) for name in registry.names()]


class SecondsField(forms.FloatField):
    def __init__(self, *, min_value: float = 0.1) -> None:
        text = "Seconds. Empty: what the task says."
        super().__init__(
            required=False,
            min_value=min_value,
            max_value=LONGEST,
            help_text=text,
            widget=UnfoldAdminDecimalFieldWidget(),
        )


def help_text(field: str) -> str:
    """What the model says about a field that the form has to spell out."""
    return Job._meta.get_field(field).help_text


def whole_number(most: int, text: str, least: int = 1) -> forms.IntegerField:
    return forms.IntegerField(
        required=False, min_value=least, max_value=most, help_text=text, widget=UnfoldAdminIntegerFieldWidget()
    )


class TagsField(forms.CharField):
    """Tags as people write them: with commas or blanks between them."""

    def __init__(self) -> None:
        text = "What it can be found by, such as billing, team:data. With commas or blanks between them."
        super().__init__(required=False, help_text=text, widget=UnfoldAdminTextInputWidget())

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        try:
            return read_tags(super().clean(value).replace(",", " ").split())
        except InvalidTags as error:
            raise forms.ValidationError(str(error)) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class RefusableForm(forms.ModelForm):
    """A form that the service may refuse though its fields are valid: see `jobs.admin.acts.KeepsInput`."""

    refusal = ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.refusal:
            self.add_error(None, self.refusal)
        return cleaned


class JobForm(RefusableForm):
    tags = TagsField()
    task = forms.ChoiceField(choices=task_choices, widget=UnfoldAdminSelectWidget())
    payload = forms.JSONField(required=False, widget=PayloadEditor())
    schedule = forms.JSONField(required=False, initial=IMMEDIATELY, widget=ScheduleEditor())
    priority = forms.TypedChoiceField(
        choices=choices(Priority), coerce=int, initial=Priority.NORMAL, widget=UnfoldAdminSelectWidget()
    )

    max_retries = whole_number(MOST_RETRIES, "Empty: what the task says.", least=0)

    retry_delay = SecondsField()
    retry_delay_cap = SecondsField()
    time_limit = SecondsField()
    lease = SecondsField(min_value=SHORTEST_LEASE)

    misfire = forms.ChoiceField(
        choices=choices(Misfire),
        required=False,
        initial=Misfire.RUN_ONCE,
        help_text=help_text("misfire"),
        widget=UnfoldAdminSelectWidget(),
    )
    catch_up_window = whole_number(int(LONGEST_WINDOW.total_seconds()), help_text("catch_up_window"))
    catch_up_max = whole_number(MOST_CAUGHT_UP, help_text("catch_up_max"))
    overlap = forms.TypedChoiceField(
        choices=[("", "Default"), *choices(Overlap)],
        required=False,
        empty_value=None,
        help_text=help_text("overlap"),
        widget=UnfoldAdminSelectWidget(),
    )

    class Meta:
        model = Job
        fields = ["name", "tags", "tenant", "task", "payload", "schedule", "priority", *LIMITS, *POLICIES]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "payload" in self.initial:  # what is sent back with a mark in it keeps what that stands for
            self.initial["payload"] = redacted(self.initial["payload"])

    def clean_payload(self) -> Any:
        payload = self.cleaned_data["payload"]
        if payload is None:
            payload = {}
        try:
            check_document(payload)
        except UnstorableDocument as error:
            raise forms.ValidationError(str(error)) from None
        return payload

    def clean_schedule(self) -> Any:
        schedule = self.cleaned_data["schedule"]
        # An unchanged schedule may well have its only run behind it; an emptied one stays as it was.
        if not schedule:
            return self.instance.schedule or None
        if "schedule" in self.changed_data:
            try:
                parse_schedule(schedule, now=database_now())
            except InvalidSchedule as error:
                self.fields["schedule"].widget.faults = {error.field: str(error)}
                raise forms.ValidationError(f"{error.field}: {error}") from None
        return schedule

    def clean_misfire(self) -> str:
        """Left out, it stays as it was."""
        return self.cleaned_data["misfire"] or self.instance.misfire

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.instance.status == JobStatus.CANCELLED:
            raise forms.ValidationError("A cancelled job cannot be changed. Create a new one.")
        if "task" in cleaned and "payload" in cleaned:
            try:
                stored = Stored(self.instance.task, self.instance.payload) if self.instance.tenant_id else None
                tenant = self.instance.tenant_id or getattr(cleaned.get("tenant"), "pk", NOBODY)
                accepted(usable_task(cleaned["task"], tenant), cleaned["payload"], tenant=tenant, stored=stored)
            except (UnknownTask, MailRefused) as error:
                self.add_error("task", str(error))
            except InvalidPayload as error:
                self.fields["payload"].widget.faults = error.errors
                self.add_error("payload", [f"{field}: {message}" for field, message in error.errors.items()])
        if cleaned.keys() >= {"misfire", "overlap", "schedule"}:
            schedule = cleaned["schedule"] or IMMEDIATELY
            try:
                check_policies(cleaned["misfire"], cleaned["overlap"], recurring=recurs(schedule))
            except InvalidPolicy as error:
                self.add_error(error.field, str(error))
        return cleaned
