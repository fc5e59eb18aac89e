"""Addresses that lead nowhere: a page for people, a problem for programs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from jobs.api.problems import page_not_found
from jobs.dashboard.windows import guarded


@guarded
def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    # Browsers ask for HTML by name; what takes anything is a program.
    if request.path.startswith("/api/") or "text/html" not in request.headers.get("Accept", ""):
        return page_not_found(request, exception)
    return render(request, "dashboard/not_found.html", status=404)
