"""Which time zones may be named in a schedule.

Only the names of the IANA database are looked up. `ZoneInfo` itself treats its argument as a path:
it answers a directory, an empty name or a NUL each with a different error, and it would happily
follow this machine's own `localtime`.
"""

from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from scheduling.recurrence.errors import InvalidSchedule, quoted

# Files of the database that are no zones: this machine's own setting, and a placeholder for "not set".
NOT_ZONES = frozenset({"localtime", "posixrules", "Factory"})
# Second copies of every zone; `right/` counts leap seconds, which Python's clock does not.
COPIES = ("posix/", "right/")

# Those that group places. What others group, such as Etc/GMT+5 (which is behind UTC) or US/Eastern, is
# better quoted in full.
REGIONS = frozenset(
    ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
)

LONGEST_NAME = 64  # the longest real one has 32; a bound keeps the search for a similar name cheap


def zone_named(name: object) -> ZoneInfo:
    """Return the zone called `name`, exactly as the IANA database spells it."""
    if not isinstance(name, str):
        raise InvalidSchedule("timezone", f"{quoted(name)} is not a time zone: give a name such as 'Europe/Paris'.")
    if name not in zone_names():
        raise InvalidSchedule("timezone", f"No time zone is named {quoted(name)}. {_remedy(name)}")
    return ZoneInfo(name)


# Listing the zones walks a directory tree, some 35 ms: once for each process.
@cache
def zone_names() -> frozenset[str]:
    """Return every name that a schedule may use."""
    return frozenset(name for name in available_timezones() if name not in NOT_ZONES and not name.startswith(COPIES))


def place_named(name: str) -> str:
    """Return how people speak of the zone: "Jakarta time" for Asia/Jakarta, the name itself where it names no place."""
    region, _, place = name.rpartition("/")
    if region.partition("/")[0] not in REGIONS:
        return name if name in ("UTC", "GMT") else f"{name} time"
    return f"{place.replace('_', ' ')} time"


def _remedy(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        spelled = {known.lower(): known for known in sorted(zone_names())}
        similar = get_close_matches(name.lower(), spelled, n=1, cutoff=0.8)
        if similar:
            return f"Did you mean '{spelled[similar[0]]}'?"
    return "Use an IANA name such as 'Europe/Paris', or 'UTC'."
