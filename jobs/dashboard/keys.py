"""The page of API keys: those of a tenant, a new one shown once, an old one revoked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from accounts import keys
from accounts.api.keys import WantedKeySerializer
from accounts.models.api_key import Scope
from accounts.quota import QuotaExceeded
from accounts.tenancy import MAY_WRITE, membership_for
from jobs.dashboard.windows import done, form_target, window

SHOWN = 100  # keys: no more can be used at a time
LIVES = [("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("", "never")]


class WantedKey(forms.Form):
    """The fields; what is allowed in them, the API's own serializer says."""

    name = forms.CharField(max_length=100, widget=forms.TextInput({"placeholder": "What it is for"}))
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices, initial=[Scope.READ, Scope.WRITE], widget=forms.CheckboxSelectMultiple
    )
    days = forms.ChoiceField(choices=LIVES, required=False, initial="90")

    def clean(self) -> dict[str, Any]:
        fields = super().clean()
        if not self.errors:
            days = fields.pop("days")
            if days:
                fields["expires_at"] = (timezone.now() + timedelta(days=int(days))).isoformat()  # as JSON has it
            self.checked = WantedKeySerializer(data=fields)
            if not self.checked.is_valid():
                for name, faults in self.checked.errors.items():
                    self.add_error(name if name in self.fields else None, [str(fault) for fault in faults])
        return fields


@window
def key_list(request: HttpRequest) -> HttpResponse:
    own = _own(request, to_write=request.method == "POST")
    form = WantedKey(request.POST or None)
    made = None
    if request.method == "POST" and form.is_valid():
        try:
            made = keys.create_key(tenant=own.tenant, creator=request.user, **form.checked.validated_data)
            form = WantedKey()
        except QuotaExceeded as error:
            form.add_error(None, str(error))
    context = {
        "form": form,
        "made": made,
        "keys": keys.visible_to(own)[:SHOWN],
        "tenant": own.tenant,
        "may_write": own.role in MAY_WRITE,
        "now": timezone.now(),
        "page": "keys",
    }
    return render(request, "dashboard/keys.html", context)


@form_target
def revoke(request: HttpRequest, pk: UUID) -> HttpResponse:
    found = keys.visible_to(_own(request, to_write=True)).filter(pk=pk)
    if not found.exists():
        raise Http404("There is no such key, or it is not yours to revoke.")
    if not found.revoke(timezone.now()):
        messages.error(request, "This key is already revoked.")
        return redirect("keys")
    return done(request, "Revoked. Requests with this key are refused.", "keys")


def _own(request: HttpRequest, *, to_write: bool) -> Any:
    scope = request.viewer.scope
    return membership_for(request.user, str(scope.pk) if scope else None, to_write=to_write)
