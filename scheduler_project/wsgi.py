"""The web application, for any WSGI server."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from scheduler_project.memory import keep_what_is_loaded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_project.settings")
application = get_wsgi_application()
get_resolver().url_patterns  # noqa: B018  reads every address, and so loads every page before the first request
keep_what_is_loaded()
