"""A client that orders a few jobs and goes: `python -m tests.chaos.orders '[{"task": …}, …]'`. For the scenarios."""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import django


def main(orders: list[dict[str, Any]]) -> None:
    django.setup()
    from django.utils import timezone

    from accounts.services import register
    from jobs.models import Job
    from jobs.services import NewJob, create_job
    from tests.chaos.journal import Journal

    journal = Journal(Path(os.environ["CHAOS_FOLDER"]) / "accepted.jsonl")
    tenant = register(username="client", email="client@example.com", password="correct horse").tenants.get()
    for order in orders:
        kind = "now"
        if "due_in" in order:
            kind = "once"
            due = timezone.now() + timedelta(seconds=order.pop("due_in"))
            order["schedule"] = {"type": "once", "run_at": due.isoformat()}
        lease = order.pop("own_lease", None)
        job = create_job(NewJob(**order), tenant=tenant, actor=None)
        if lease:
            Job.objects.filter(pk=job.pk).update(lease=lease)
        journal.write(event="accepted", job=str(job.id), kind=kind, via="services")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
