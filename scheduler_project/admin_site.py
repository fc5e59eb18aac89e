"""The admin as a site: Unfold's, with pages of ours that are about no single table."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin.views.main import ERROR_FLAG
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.db import DataError, NotSupportedError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from unfold.sites import UnfoldAdminSite


class PunctualSite(UnfoldAdminSite):
    index_title = "Jobs and their history"

    def extra_urls(self) -> list[URLPattern]:
        from jobs.admin.calendar import calendar
        from jobs.admin.dead_letters import act_on_letters, dead_letters
        from jobs.admin.workers import workers

        return [
            path("dead-letters/", self.admin_view(dead_letters), name="dead_letters"),
            path("dead-letters/act/", self.admin_view(act_on_letters), name="act_on_letters"),
            path("calendar/", self.admin_view(calendar), name="calendar"),
            path("workers/", self.admin_view(workers), name="workers"),
        ]

    def admin_view(self, view: Callable[..., HttpResponse], cacheable: bool = False) -> Callable[..., HttpResponse]:
        """Answer a filter that the database cannot compare with as one that Django itself refuses.

        Such a value is found only when the rows are read: a time in the year 10,000 of UTC, or NaN in JSON.
        """

        @wraps(view)
        def forgiving(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                return view(request, *args, **kwargs)
            except (DataError, NotSupportedError, OverflowError):
                if request.method != "GET" or not request.GET or ERROR_FLAG in request.GET:
                    raise
                return redirect(f"{request.path}?{ERROR_FLAG}=1")

        return super().admin_view(forgiving, cacheable)

    def login(self, request: HttpRequest, extra_context: dict | None = None) -> HttpResponse:
        """Whoever signs in without having been sent from somewhere stays here: Unfold's page forgets to say so."""
        if request.method == "GET" and REDIRECT_FIELD_NAME not in request.GET:
            return redirect(f"{request.path}?{REDIRECT_FIELD_NAME}={reverse('admin:index')}")
        return super().login(request, extra_context)

    def password_change(self, request: HttpRequest, extra_context: dict | None = None) -> HttpResponse:
        """The dashboard's page does the same for everybody, and counts wrong passwords."""
        return redirect("change-password")

    def index(self, request: HttpRequest, extra_context: dict | None = None) -> HttpResponse:
        """What somebody may see first: an overview is the dashboard's part."""
        for permission, address in (
            ("jobs.view_job", "admin:jobs_job_changelist"),
            ("jobs.view_execution", "admin:jobs_execution_changelist"),
            ("jobs.view_auditevent", "admin:jobs_auditevent_changelist"),
            ("accounts.view_user", "admin:accounts_user_changelist"),
        ):
            if request.user.has_perm(permission):
                return redirect(address)
        return super().index(request, extra_context)
