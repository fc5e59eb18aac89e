"""The real django-celery-beat, in an environment of its own: it must not change what Punctual runs on."""
