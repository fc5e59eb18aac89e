"""The tasks that run functions of django.tasks: one for each queue, where Punctual is the backend."""

from django.conf import settings

if getattr(settings, "TASKS", None):
    from jobs import django_tasks

    django_tasks.register(django_tasks.queues_of(settings.TASKS))
