"""The web application, for any WSGI server."""

import os

from django.core.wsgi import get_wsgi_application

from scheduler_project.memory import keep_what_is_loaded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_project.settings")
application = get_wsgi_application()
keep_what_is_loaded()
