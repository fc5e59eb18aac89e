"""All checks, in an order in which each stands on those before it."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_project.doctor import carrier, configuration, database, index, machine, trust, work
from scheduler_project.doctor.findings import Finding, error

Check = Callable[[], list[Finding]]

ALONE: list[Check] = [
    configuration.system_checks,
    configuration.debug_in_production,
    configuration.mail_leaves_the_machine,
    configuration.who_can_register,
    configuration.who_can_mail,
    configuration.where_mailed_links_lead,
    machine.disk,
    machine.files,
]
SERVERS: list[Check] = [index.server, carrier.server, carrier.alarm]
DATABASE: list[Check] = [database.version, database.settings_of_the_server]
WITH_TABLES: list[Check] = [
    configuration.what_machines_share,
    database.history_without_end,
    database.partitions_ahead,
    machine.clock,
    carrier.topology,
    index.drift,
    work.who_is_there,
    work.overdue_jobs,
    work.overdue_executions,
    work.stuck_executions,
    work.unserved_tasks,
    work.idle_executors,
    work.unknown_tasks,
    carrier.dead_letters,
    trust.secrets,
    trust.tenants_without_owner,
    trust.well_known_password,
    trust.mail_without_verified_owner,
]


def examine() -> list[Finding]:
    """What is wrong, the worst first. Without a database, what needs none is looked at."""
    found = _all(ALONE) + _all(SERVERS)
    lost = database.answers()
    found += lost
    if not lost:
        found += _all(DATABASE)
        old = _all([database.migrations])
        found += old
        # What reads our tables fails where they are not as the code knows them.
        if not any(one.code == "database.migrations_missing" for one in old):
            found += _all(WITH_TABLES)
    return sorted(found, key=lambda one: -one.level)


def _all(checks: list[Check]) -> list[Finding]:
    return [one for check in checks for one in _done(check)]


def _done(check: Check) -> list[Finding]:
    """A check that fails is a finding like any other, and keeps no other from being made."""
    try:
        return check()
    except Exception as fault:
        name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
        return [
            error(
                "doctor.check_failed",
                f"The check {name} failed: {type(fault).__name__}: {fault}",
                "What it names is probably what is wrong. If not, tell us.",
            )
        ]
