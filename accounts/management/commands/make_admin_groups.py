from django.core.management.base import BaseCommand, CommandError

from accounts.groups import make_groups


class Command(BaseCommand):
    help = "Makes the admin's groups: Viewers, Operators and Administrators. Can be repeated."

    def handle(self, **options):
        try:
            groups = make_groups()
        except LookupError as error:
            raise CommandError(str(error)) from None
        for group in groups:
            self.stdout.write(f"{group.name}: {group.permissions.count()} permissions.")
