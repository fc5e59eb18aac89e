from django.apps import AppConfig


class ProjectConfig(AppConfig):
    name = "scheduler_project"

    def ready(self) -> None:
        from scheduler_project import checks  # noqa: F401  (registers them)
