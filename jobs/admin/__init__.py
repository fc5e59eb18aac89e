"""The admin: jobs, their history and what can be done about it, for people who operate the scheduler.

A window and nothing more: what it shows it reads through the models' own words, and what it does goes through the same
services as the API's, so that the rules and the audit trail hold here too. No page looks at all rows of a table that
grows, and none counts them.
"""

from jobs.admin import alerts, attempt, audit, execution, job

__all__ = ["alerts", "attempt", "audit", "execution", "job"]
