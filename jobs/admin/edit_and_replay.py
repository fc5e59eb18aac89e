"""A dead letter whose payload was what was wrong with it: corrected, checked, and run again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse

from execution.registry import InvalidPayload
from jobs import dead_letters
from jobs.admin.editors import PayloadEditor
from jobs.admin.lists import address_of
from jobs.admin.permissions import OPERATE_EXECUTIONS, require
from jobs.documents import UnstorableDocument, check_document
from jobs.models import Execution
from jobs.redaction import redacted


class PayloadForm(forms.Form):
    payload = forms.JSONField(widget=PayloadEditor(), required=False)

    def clean_payload(self) -> Any:
        payload = self.cleaned_data["payload"]
        try:
            check_document(payload)
        except UnstorableDocument as error:
            raise forms.ValidationError(str(error)) from None
        return {} if payload is None else payload


def edit_and_replay(request: HttpRequest, execution_id: UUID, model_admin: Any) -> HttpResponse:
    require(request, "jobs.view_execution", OPERATE_EXECUTIONS)
    execution = get_object_or_404(Execution.objects.select_related("job"), pk=execution_id)
    form = PayloadForm(request.POST or None, initial={"payload": redacted(execution.effective_payload)})
    if form.is_valid():
        try:
            replayed = dead_letters.replay(
                Execution.objects.filter(pk=execution.pk), actor=request.user, payload=form.cleaned_data["payload"]
            )
        except InvalidPayload as error:
            form.fields["payload"].widget.faults = error.errors
            form.add_error("payload", [f"{field}: {message}" for field, message in error.errors.items()])
        except dead_letters.REFUSALS as error:
            form.add_error(None, str(error))
        else:
            told = (
                "It runs again, with the new payload."
                if replayed
                else "It is no dead letter any more, or its job has ended."
            )
            model_admin.message_user(request, told, messages.SUCCESS if replayed else messages.WARNING)
            return redirect(address_of(execution))
    shared = {**model_admin.admin_site.each_context(request), "opts": model_admin.opts, "title": "Edit and replay"}
    own = {"execution": execution, "form": form, "back": address_of(execution)}
    return TemplateResponse(request, "admin/punctual/edit_and_replay.html", shared | own)
