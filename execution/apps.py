from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import autodiscover_modules


class ExecutionConfig(AppConfig):
    name = "execution"

    def ready(self) -> None:
        from execution import worker_keys  # noqa: F401  (revokes the keys of those who are no longer owners)

        # A task is found by itself: in the `tasks.py` of any installed app.
        autodiscover_modules("tasks")
        # Those that others run are declared.
        from execution.registry import registry
        from execution.remote import declare

        declare(settings.REMOTE_TASKS, registry)
