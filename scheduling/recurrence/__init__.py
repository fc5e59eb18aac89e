"""When a job runs: once, every so often, or on a cron expression in a time zone.

Everything here is arithmetic. It is told an instant and answers with an instant, both aware and in
UTC; it never reads a clock, a database or a setting, so that a schedule can be tried for any day of
any year without waiting for it.
"""

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.bounds import Bounded
from scheduling.recurrence.clock_changes import OnGap, OnRepeat
from scheduling.recurrence.cron import Cron
from scheduling.recurrence.errors import InvalidSchedule
from scheduling.recurrence.every import Every
from scheduling.recurrence.jitter import Jittered
from scheduling.recurrence.once import Once
from scheduling.recurrence.parsing import depends_on_seed, parse_schedule
from scheduling.recurrence.preview import PreviewedRun, preview
from scheduling.recurrence.words import describe

__all__ = [
    "Bounded",
    "Cron",
    "Every",
    "InvalidSchedule",
    "Jittered",
    "OnGap",
    "OnRepeat",
    "Once",
    "PreviewedRun",
    "Recurrence",
    "depends_on_seed",
    "describe",
    "parse_schedule",
    "preview",
]
