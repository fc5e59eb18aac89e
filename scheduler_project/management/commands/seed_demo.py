from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts import demo
from accounts.models import User
from accounts.services import register_admin
from jobs.demo.jobs import create_demo_jobs


class Command(BaseCommand):
    help = "Creates the demo admin and demo jobs, in embedded mode, for this machine only. The password is public."

    def handle(self, **options):
        if not settings.EMBEDDED:
            self.stdout.write("Not embedded: no demo admin. Create yours with `manage.py createsuperuser`.")
            return
        if why := demo.exposure():
            raise CommandError(
                f"Demo admin not created: {why}, so others can reach this server, and its password is publicly known. "
                "Create your own admin: python manage.py createsuperuser"
            )
        admin = User.objects.filter(username=demo.NAME).first()
        if admin is None:
            admin = register_admin(username=demo.NAME, email="admin@example.com", password=demo.PASSWORD)
        if settings.DEMO:
            settings.DEMO_SEEDED.touch()
        jobs = create_demo_jobs(admin.tenants.first(), admin)
        self.stdout.write(
            f"Demo: sign in as {demo.NAME} / {demo.PASSWORD}; {jobs} new demo job(s). For trying it out only."
        )
