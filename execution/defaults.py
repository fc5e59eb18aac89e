"""What the settings say of attempts, for jobs and tasks that do not."""

from django.conf import settings

from jobs.limits import Limits


def default_limits() -> Limits:
    return Limits(
        settings.MAX_RETRIES,
        settings.RETRY_BASE,
        settings.RETRY_CAP,
        settings.TIME_LIMIT,
        settings.EXECUTION_LEASE,
    )
