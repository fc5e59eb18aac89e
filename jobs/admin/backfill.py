"""Making up for due times that passed without a run: first what it would make, then the making."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from jobs import backfill
from jobs.admin.job_acts import REFUSALS
from jobs.admin.lists import address_of
from jobs.admin.permissions import OPERATE_JOBS, require
from jobs.backfill import FASTEST, RATE
from jobs.clock import database_now
from jobs.occurrences import InvalidWindow

ISO = "%Y-%m-%dT%H:%M"
LISTED = 100  # due times of a plan


def _instant(label: str, help_text: str) -> forms.DateTimeField:
    widget = UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"})
    return forms.DateTimeField(label=label, help_text=help_text, input_formats=[ISO, f"{ISO}:%S"], widget=widget)


class BackfillForm(forms.Form):
    start = _instant("From (UTC)", "Due times from this on …")
    end = _instant("To (UTC)", "… and before this, which has passed.")
    rate = forms.IntegerField(
        min_value=1,
        max_value=FASTEST,
        initial=RATE,
        label="Executions a minute",
        help_text="They start one after the other at this pace.",
        widget=UnfoldAdminIntegerFieldWidget(),
    )


def backfill_view(request: HttpRequest, job_id: UUID, model_admin: Any) -> HttpResponse:
    require(request, "jobs.view_job", OPERATE_JOBS)
    job = get_object_or_404(model_admin.get_queryset(request), pk=job_id)
    form = BackfillForm(request.POST or None, initial=_the_last_day())
    planned = None
    if form.is_valid():
        wanted = form.cleaned_data
        window = {"start": wanted["start"].astimezone(UTC), "end": wanted["end"].astimezone(UTC)}
        try:
            if "confirmed" in request.POST:
                made = backfill.backfill(job, **window, rate=wanted["rate"], actor=request.user)
                model_admin.message_user(request, f"{len(made.due_times):,} execution(s) recorded.", messages.SUCCESS)
                return redirect(address_of(job))
            planned = backfill.plan(job, **window, rate=wanted["rate"])
        except InvalidWindow as error:
            form.add_error({"from": "start", "to": "end"}.get(error.field), str(error))
        except REFUSALS as error:
            form.add_error(None, str(error))
    shared = {**model_admin.admin_site.each_context(request), "opts": model_admin.opts, "title": f"Backfill {job}"}
    own = {"job": job, "form": form, "planned": planned, "listed": LISTED, "back": address_of(job)}
    return TemplateResponse(request, "admin/punctual/backfill.html", shared | own)


def _the_last_day() -> dict[str, str]:
    now = database_now().astimezone(UTC)
    return {"start": (now - timedelta(days=1)).strftime(ISO), "end": now.strftime(ISO)}
