"""The admin's form of an alert rule: the same checks as the API's, each told beside its field."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from jobs.admin.forms import RefusableForm
from jobs.alerts import rules
from jobs.alerts.kinds import Channel, Wish
from jobs.alerts.rules import LONGEST, MOST_EMAILS, PAUSE, SHORTEST_PAUSE
from jobs.models import AlertRule
from jobs.models.alert import LONGEST_URL
from jobs.states import choices
from jobs.terms import LONGEST_TAG

FIELDS = ("name", "job", "tag", "kinds", "channel", "emails", "url", "secret", "patience", "pause", "enabled")


class AddressesField(forms.CharField):
    """Mail addresses as people write them: one per line, or with commas between them."""

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        found = super().clean(value).replace(",", "\n").split()
        if len(found) > MOST_EMAILS:
            raise forms.ValidationError(f"At most {MOST_EMAILS} addresses.")
        return found

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class AlertRuleForm(RefusableForm):
    job = forms.UUIDField(
        required=False,
        label="Job id",
        help_text="Only this job. Without a job and a tag: all jobs of the tenant.",
        widget=UnfoldAdminTextInputWidget(),
    )
    tag = forms.CharField(
        required=False, max_length=LONGEST_TAG, help_text="Jobs with this tag.", widget=UnfoldAdminTextInputWidget()
    )
    kinds = forms.MultipleChoiceField(
        choices=choices(Wish),
        initial=list(Wish),
        label="Events",
        help_text="Recovered: an earlier event of this rule is over.",
        widget=forms.CheckboxSelectMultiple(),
    )
    channel = forms.ChoiceField(choices=choices(Channel), widget=UnfoldAdminSelectWidget())
    emails = AddressesField(
        required=False,
        help_text="Channel email: the recipients, one per line.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )
    url = forms.CharField(
        required=False,
        max_length=LONGEST_URL,
        label="URL",
        help_text="Channel webhook: where notices are posted.",
        widget=UnfoldAdminTextInputWidget(),
    )
    secret = forms.CharField(
        required=False,
        max_length=200,
        label="Signing secret",
        help_text="Channel webhook: whsec_ and base64. Empty: unchanged, or the signing secret of the tenant.",
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
    )
    patience = forms.FloatField(
        required=False,
        min_value=0,
        max_value=LONGEST,
        help_text="Seconds that a missed or late execution is waited for before it is reported.",
        widget=UnfoldAdminDecimalFieldWidget(),
    )
    pause = forms.FloatField(
        initial=PAUSE,
        min_value=SHORTEST_PAUSE,
        max_value=LONGEST,
        help_text="Minimum seconds between two notices.",
        widget=UnfoldAdminDecimalFieldWidget(),
    )
    enabled = forms.BooleanField(required=False, initial=True, widget=UnfoldBooleanSwitchWidget())

    class Meta:
        model = AlertRule
        fields = ["tenant", *(name for name in FIELDS if name != "secret")]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "tenant" in self.fields:  # the rules without one are made by the settings
            self.fields["tenant"].required = True

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        tenant = self.instance.tenant or cleaned.get("tenant")
        if not self.errors and tenant:
            for name, message in rules.faults_of(self.instance, self.values(), tenant=tenant).items():
                self.add_error(name if name in self.fields else None, message)
        return cleaned

    def values(self) -> dict[str, Any]:
        """What is asked for, as the API has it; of a rule that exists, what was changed."""
        names = FIELDS if self.instance._state.adding else [name for name in FIELDS if name in self.changed_data]
        values = {name: self.cleaned_data[name] for name in names}
        if not values.get("secret"):
            values.pop("secret", None)
        if values.get("patience", 0) is None:
            values["patience"] = 0
        return values

    def _post_clean(self) -> None:
        """The service checks and sets the fields: the form's own instance stays as it is stored."""
