from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import autodiscover_modules


class ExecutionConfig(AppConfig):
    name = "execution"

    def ready(self) -> None:
        # A task is found by itself: in the `tasks.py` of any installed app.
        autodiscover_modules("tasks")
        # Those that others run are declared.
        from execution.registry import registry
        from execution.remote import declare

        declare(settings.REMOTE_TASKS, registry)
