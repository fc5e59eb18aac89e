"""Failed attempts in the admin: read beside their execution, and found by what went wrong."""

from __future__ import annotations

from django.contrib import admin
from unfold.admin import ModelAdmin

from jobs.admin.lists import LongList
from jobs.admin.permissions import ReadOnly
from jobs.models import Attempt
from jobs.shown import badge, moment
from jobs.states import AttemptOutcome, choices


@admin.register(Attempt)
class AttemptAdmin(ReadOnly, LongList, ModelAdmin):
    list_display = ["execution", "number", "state", "error", "worker", "ended"]
    list_select_related = ["execution"]
    tab_param = "outcome__exact"
    tab_choices = choices(AttemptOutcome)
    unlisted = ("traceback", "execution__payload", "execution__result")
    search_ids = ("execution",)
    search_texts = ("error",)
    search_help_text = "The id of an execution, or part of an error"

    @admin.display(description="outcome")
    def state(self, attempt: Attempt) -> str:
        return badge(attempt.outcome)

    @admin.display(description="ended")
    def ended(self, attempt: Attempt) -> str:
        return moment(attempt.finished_at)
