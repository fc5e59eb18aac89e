"""Takes over what django-celery-beat has scheduled.

Its tables are read with plain statements, so that neither Celery nor its app has to be installed here. What has no
counterpart is left out or named as a difference, never approximated in silence.
"""
