from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"
    verbose_name = "Work"

    def ready(self) -> None:
        from jobs.alerts import former_members  # noqa: F401  (takes their addresses out of alert rules)
