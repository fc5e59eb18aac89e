from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from accounts.models import Tenant
from execution.registry import UnknownTask
from execution.worker_keys import make_worker_key


class Command(BaseCommand):
    help = "Makes a key for a worker in another language, and shows it this once."

    def add_arguments(self, parser):
        parser.add_argument("--task", action="append", required=True, help="that it may run; may be given again")
        parser.add_argument("--tenant", help="the id of a tenant: its executions only. Without one, everybody's")
        parser.add_argument("--name", default="", help="shown in the history")

    def handle(self, *, task, tenant, name, **options):
        try:
            made = make_worker_key(task, name=name, tenant=Tenant.objects.get(pk=tenant) if tenant else None)
        except UnknownTask as error:
            raise CommandError(str(error)) from None
        except (Tenant.DoesNotExist, ValidationError):
            raise CommandError(f"No tenant has the id {tenant!r}. The admin lists them.") from None
        self.stdout.write(made.secret)
