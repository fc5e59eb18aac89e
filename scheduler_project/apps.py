from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class ProjectConfig(AppConfig):
    name = "scheduler_project"
    default = True

    def ready(self) -> None:
        from scheduler_project import checks  # noqa: F401  (registers them)


class AdminConfig(SimpleAdminConfig):
    """The admin, which looks for its pages only where addresses are read: no daemon ever loads one of them."""

    default = False
    default_site = "scheduler_project.admin_site.PunctualSite"


class UnfoldConfig(AppConfig):
    """Unfold's templates and static files. Its own config would load all of its code into every process."""

    default = False
    name = "unfold"
