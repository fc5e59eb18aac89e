from django.core.management.base import BaseCommand, CommandError

from accounts.models import User


class Command(BaseCommand):
    help = "Marks the email addresses of users as verified: the operator vouches for them."

    def add_arguments(self, parser):
        parser.add_argument("usernames", nargs="+", metavar="username")

    def handle(self, *, usernames, **options):
        found = {user.get_username(): user for user in User.objects.filter(username__in=usernames)}
        for name in usernames:
            if name not in found:
                raise CommandError(f"User not found: {name}.")
            if not found[name].email:
                raise CommandError(f"{name} has no email address. Add one in the admin.")
        for name in usernames:
            found[name].note_verified(found[name].email)
            self.stdout.write(f"{name}: {found[name].email} is verified.")
