"""The web application, for any WSGI server."""

import os

import structlog
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from scheduler_project.memory import keep_what_is_loaded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_project.settings")
application = get_wsgi_application()
get_resolver().url_patterns  # noqa: B018  reads every address, and so loads every page before the first request

from scheduler_project.checks import findings_at_web_start  # noqa: E402  of models, which are there only now

for told in findings_at_web_start():
    event = f"settings.{told.id}"  # as the doctor names it
    structlog.get_logger(__name__).warning(event, fact=told.msg, remedy=told.hint)
keep_what_is_loaded()
