"""A tenant with something of everything, for questions to meet: printed as JSON, with the headers that speak for it.

Run as `python -m tests.fuzz.world`, inside the installation that is asked.
"""

from __future__ import annotations

import json
from datetime import timedelta

import django

PASSWORD = "correct horse battery"
MANY = 200  # jobs: some will be deleted
DAILY = {"type": "cron", "expression": "30 3 * * *", "timezone": "Asia/Jakarta"}
MAIL = {"to": "you@example.com", "subject": "Report", "body": "…"}


def build() -> dict:
    from accounts.keys import create_key
    from accounts.services import register
    from accounts.tokens import sign_in
    from jobs import services
    from jobs.alerts.rules import create_rule
    from jobs.clock import database_now
    from jobs.ids import execution_id
    from jobs.models import Attempt, Execution, Incident
    from jobs.services import NewJob
    from jobs.states import Status

    alice = register(username="alice", email="alice@example.com", password=PASSWORD)
    team = alice.tenants.get()
    jobs = [services.create_job(NewJob("send_email", MAIL, DAILY), tenant=team, actor=alice) for _ in range(MANY)]
    services.pause_job(jobs[0], actor=alice)
    services.cancel_job(jobs[1], actor=alice)
    leaving = register(username="leaving", email="leaving@example.com", password=PASSWORD)
    now = database_now()
    executions = []
    for place, status in enumerate([*Status, Status.FAILED] * (MANY // 4)):
        due = now - timedelta(minutes=place)
        job = jobs[2 + place % (MANY - 2)]
        one = Execution.objects.create(
            id=execution_id(job.id, due, "schedule"),
            job=job,
            tenant=team,
            task=job.task,
            priority=job.priority,
            cause="schedule",
            status=status,
            attempt=1,
            due_at=due,
            not_before=due,
            recorded_at=due,
            error="ValueError: no such user 17" if status is Status.FAILED else "",
        )
        Attempt.objects.create(execution=one, number=1, outcome="FAILED", error="ValueError: 17", finished_at=now)
        executions.append(one)
    keys = [create_key(tenant=team, creator=alice, name="ci", scopes=["read"]).key for _ in range(20)]
    by_mail = {"name": "On call", "channel": "email", "emails": ["oncall@example.com"]}
    rules = [create_rule(by_mail, tenant=team, actor=alice) for _ in range(20)]
    base = {"kind": "missed", "tenant": team, "title": "Report", "since": now, "last_at": now, "opened_at": now}
    incidents = [Incident.objects.create(job=job, subject=str(job.id), key=str(job.id), **base) for job in jobs[:20]]
    return {
        "tenant": str(team.pk),
        "headers": {"Authorization": f"Bearer {sign_in(alice).access}"},
        "headers_to_lose": {"Authorization": f"Bearer {sign_in(leaving).access}"},  # of a user who signs out
        "ids": {
            "jobs": [str(job.id) for job in jobs],
            "executions": [str(one.id) for one in executions],
            "tenants": [str(team.pk)],
            "keys": [str(key.pk) for key in keys],
            "alerts": [str(rule.pk) for rule in rules],
            "incidents": [str(one.pk) for one in incidents],
        },
    }


if __name__ == "__main__":
    django.setup()
    print(json.dumps(build()))
