"""Whether the settings make sense, each and together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.core import checks

from jobs.clock import database_now
from jobs.models import Presence
from scheduler_project.checks import PUNCTUAL
from scheduler_project.doctor.findings import Finding, Level, error, note, warning
from scheduler_project.env import given_secret

KEYS = ("SECRET_KEY", "SECRETS_KEY", "JWT_SIGNING_KEY")


def system_checks() -> list[Finding]:
    """What Django and our own checks say of the settings; in production, of the deployment too."""
    found = checks.run_checks(tags=[PUNCTUAL])
    if settings.PRODUCTION:
        found += checks.run_checks(tags=[checks.Tags.security], include_deployment_checks=True)
    return [as_finding(message) for message in found if not message.is_silenced()]


def as_finding(message: checks.CheckMessage) -> Finding:
    level = Level.ERROR if message.level >= checks.ERROR else Level.WARNING
    return Finding(
        level, f"settings.{message.id}", str(message.msg), str(message.hint or "See Django's documentation.")
    )


def debug_in_production() -> list[Finding]:
    return open_to_strangers(debug=settings.DEBUG, production=settings.PRODUCTION, embedded=settings.EMBEDDED)


def open_to_strangers(*, debug: bool, production: bool, embedded: bool) -> list[Finding]:
    if debug and production:
        return [
            error(
                "settings.debug",
                "DEBUG is on in production: whoever causes an error reads settings and payloads.",
                "Unset DEBUG and restart the web processes.",
            )
        ]
    if not production and not embedded:
        return [
            note(
                "settings.not_production",
                "PRODUCTION is not set: cookies are sent without TLS too, and keys may be made up on each machine.",
                "Set PRODUCTION=true where others than you use it over HTTPS.",
            )
        ]
    return []


def what_machines_share() -> list[Finding]:
    """Several machines have to agree on more than the servers: on keys, and on where files are."""
    hosts = Presence.objects.present(database_now()).values_list("host", flat=True)
    unset = [key for key in KEYS if not given_secret(key)]
    return not_shared(set(hosts), unset_keys=unset, bucket=settings.S3_BUCKET, sqlite=is_sqlite(settings.DATABASES))


def is_sqlite(databases: dict[str, Any]) -> bool:
    return bool(databases["default"]["ENGINE"].endswith("sqlite3"))


def not_shared(hosts: Iterable[str], *, unset_keys: Sequence[str], bucket: str, sqlite: bool) -> list[Finding]:
    named = sorted(hosts)
    if len(named) < 2:
        return []
    where = f"Processes run on {len(named)} machines ({', '.join(named[:5])})"
    found = []
    if unset_keys:
        found.append(
            error(
                "settings.keys_of_their_own",
                f"{where}, and {', '.join(unset_keys)} is not set: each made up its own, and cannot read the others'.",
                "Give all of them the same: copy the texts from var/ of the first machine into the environment.",
            )
        )
    if not bucket:
        found.append(
            warning(
                "settings.uploads_on_one_disk",
                f"{where}, and S3_BUCKET is not set: a file that one received is not found by the others.",
                "Set S3_BUCKET (and S3_ENDPOINT), or have PUNCTUAL_VAR be a folder that all of them share.",
            )
        )
    if sqlite:
        found.append(
            error(
                "settings.sqlite_on_many_machines",
                f"{where}, and the database is an SQLite file: over a network its locks do not hold.",
                "Set DATABASE_URL to a PostgreSQL, and move the data there.",
            )
        )
    return found


def mail_leaves_the_machine() -> list[Finding]:
    return mail_stays(email_url=settings.EMAIL_URL, embedded=settings.EMBEDDED)


def mail_stays(*, email_url: str, embedded: bool) -> list[Finding]:
    if email_url or embedded:
        return []
    return [
        warning(
            "settings.mail_stays_here",
            "EMAIL_URL is not set: what send_email sends is written to a folder, and reaches nobody.",
            "Set EMAIL_URL=smtp+tls://user:password@host:587.",
        )
    ]


def who_can_register() -> list[Finding]:
    return registration_of_strangers(registration=settings.REGISTRATION, production=settings.PRODUCTION)


def registration_of_strangers(*, registration: str, production: bool) -> list[Finding]:
    if registration != "open" or not production:
        return []
    return [
        warning(
            "settings.registration_open",
            "REGISTRATION=open in production: any stranger can create an account with a tenant of its own.",
            "Set REGISTRATION=invited, or closed, and restart the web processes.",
        )
    ]


def who_can_mail() -> list[Finding]:
    return mail_of_strangers(
        needs_verified_owner=settings.MAIL_NEEDS_VERIFIED_OWNER,
        rates=(settings.MAIL_RATE, settings.MAIL_RATE_PER_RECIPIENT),
        production=settings.PRODUCTION,
    )


def mail_of_strangers(*, needs_verified_owner: bool, rates: tuple[int, int], production: bool) -> list[Finding]:
    if not production:
        return []
    found = []
    if not needs_verified_owner:
        found.append(
            warning(
                "settings.mail_unverified",
                "MAIL_NEEDS_VERIFIED_OWNER is off in production: tenants without a verified owner can send mail to any "
                "address.",
                "Unset MAIL_NEEDS_VERIFIED_OWNER and restart the executors and web processes.",
            )
        )
    if not all(rates):
        found.append(
            warning(
                "settings.mail_unlimited",
                "MAIL_RATE or MAIL_RATE_PER_RECIPIENT is 0 in production: tenants can send unlimited mail.",
                "Unset both, or set a limit that fits most tenants. The admin can set a different rate for one tenant.",
            )
        )
    return found


def where_mailed_links_lead() -> list[Finding]:
    return links_to_any_host(allowed=settings.ALLOWED_HOSTS, public_url=settings.PUBLIC_URL)


def links_to_any_host(*, allowed: Sequence[str], public_url: str) -> list[Finding]:
    if public_url or not any(host.startswith(("*", ".")) for host in allowed):
        return []
    return [
        warning(
            "settings.links_to_any_host",
            "ALLOWED_HOSTS has a wildcard and PUBLIC_URL is not set: a password reset that is "
            "requested under another host mails a link to that host.",
            "Set PUBLIC_URL to the address of the dashboard, such as https://punctual.example.com.",
        )
    ]
