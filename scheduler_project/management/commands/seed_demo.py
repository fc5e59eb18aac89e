from django.conf import settings
from django.core.management.base import BaseCommand

from accounts.models import User
from accounts.services import register_admin
from jobs.demo.jobs import create_demo_jobs

NAME = "admin"


class Command(BaseCommand):
    help = "Creates the demo admin and demo jobs. Only in embedded mode: elsewhere a known password is a hole."

    def handle(self, **options):
        if not settings.EMBEDDED:
            self.stdout.write("Not embedded: no demo admin. Create yours with `manage.py createsuperuser`.")
            return
        admin = User.objects.filter(username=NAME).first()
        if admin is None:
            admin = register_admin(username=NAME, email="admin@example.com", password=NAME)
        jobs = create_demo_jobs(admin.tenants.first(), admin)
        self.stdout.write(f"Demo: sign in as {NAME} / {NAME}; {jobs} new demo job(s). For trying it out only.")
