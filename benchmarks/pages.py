"""The pages of lists that people and scripts look at: the API's and the admin's, asked for in this process.

The first page, one from the middle of the history, and those that are narrowed down.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from functools import partial
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.test import Client

from accounts.models import User
from accounts.tokens import sign_in
from benchmarks.acts import Act
from benchmarks.load import RARE_TAG, RARE_TASK, tenant
from jobs.ids import lowest_id
from jobs.models import Execution, Job


class Pages:
    def __init__(self, middle: datetime) -> None:
        """`middle` is a time halfway through the history."""
        self._tenant = tenant()
        self._token = sign_in(self._tenant.members.get()).access
        self._client = Client(headers={"host": "localhost"})
        self._admin = Client(headers={"host": "localhost"})
        self._admin.force_login(User.objects.create_superuser("root-of-bench", password="correct horse battery"))
        self._middle = middle
        self._deep = _cursor(UUID(int=int(middle.timestamp() * 1000) << 80))

    def acts(self) -> list[Act]:
        of_job = f"jobs/{self._busiest()}/executions"
        asked = {
            "jobs": ("jobs", {}),
            "jobs, from a cursor": ("jobs", {"cursor": _cursor(self._middle_job())}),
            "jobs that are finished": ("jobs", {"status": "FINISHED"}),
            "executions": ("executions", {}),
            "executions, from a deep cursor": ("executions", {"cursor": self._deep}),
            "executions that completed": ("executions", {"status": "COMPLETED"}),
            "executions of a job": (of_job, {}),
            "executions of a job, from a deep cursor": (of_job, {"cursor": self._deep}),
        }
        place = str(lowest_id(self._middle))
        of_admin = {
            "jobs": ("jobs/job/", {}),
            "jobs, a far page": ("jobs/job/", {"after": str(self._middle_job())}),
            "a job": (f"jobs/job/{self._busiest()}/change/", {}),
            "executions": ("jobs/execution/", {}),
            "executions, a far page": ("jobs/execution/", {"after": place}),
            "executions, back from a far page": ("jobs/execution/", {"before": place}),
            "executions that completed": ("jobs/execution/", {"status__exact": "COMPLETED"}),
            "executions of a job": ("jobs/execution/", {"job__id__exact": str(self._busiest())}),
            "dead letters": ("dead-letters/", {}),
            "workers": ("workers/", {}),
            "calendar": ("calendar/", {}),
            "attempts": ("jobs/attempt/", {}),
            "audit events": ("jobs/auditevent/", {}),
        }
        return [
            *(Act(f"API: {name}", partial(self._ask, path, query)) for name, (path, query) in asked.items()),
            Act("dead letters, first page", self._dead_letters),
            *(Act(f"admin: {name}", partial(self._look, path, query)) for name, (path, query) in of_admin.items()),
        ]

    def narrowed(self) -> list[Act]:
        """Those that are narrowed down by each filter there is: to what few rows are, and to what many are."""
        soon = datetime.now(UTC) + timedelta(days=2, hours=1)
        window = {"start_time": _written(self._middle), "end_time": _written(self._middle + timedelta(minutes=10))}
        jobs = {
            "of a rare tag": {"tag": RARE_TAG},
            "of a common tag": {"tag": "common"},
            "of a common tag, from a cursor": {"tag": "common", "cursor": _cursor(self._middle_job())},
            "of a tag that none has": {"tag": "unheard-of"},
            "by a rare word": {"name": "year"},
            "by a common word": {"name": "report"},
            "by a common word and a rare one": {"name": "rep yearly"},
            "by a word that none has": {"name": "unheard"},
            "of a rare task": {"task": RARE_TASK},
            "of a rare priority": {"priority": "high"},
            "of a common priority": {"priority": "normal"},
            "of an owner of few": {"user": "bench"},
            "that are paused": {"status": "PAUSED"},
            "that are active": {"status": "ACTIVE"},
            "created in a window": {"created_after": "1970-01-01T00:00:05Z", "created_before": "1970-01-01T00:00:06Z"},
            "due in a window": {"start_time": _written(soon), "end_time": _written(soon + timedelta(minutes=1))},
            "with their last executions": {"expand": "last_execution"},
        }
        executions = {
            "of a rare tag": {"tag": RARE_TAG},
            "of a rare task": {"task": RARE_TASK},
            "of a rare priority": {"priority": "high"},
            "of a common priority": {"priority": "normal"},
            "that failed, of a rare task": {"task": RARE_TASK, "status": "FAILED"},
            "of a job": {"job": str(self._busiest())},
            "asked for by hand": {"cause": "run_now"},
            "made by backfills, of which there are none": {"cause": "backfill"},
            "due in a window": window,
            "that failed and were due in a window": window | {"status": "FAILED"},
            "that were skipped": {"status": "SKIPPED"},
            "that were cancelled": {"status": "CANCELLED"},
        }
        asked = [(f"jobs {name}", "jobs", query) for name, query in jobs.items()]
        asked += [(f"executions {name}", "executions", query) for name, query in executions.items()]
        return [Act(f"API: {name}", partial(self._ask, path, query)) for name, path, query in asked]

    def searched(self) -> list[Act]:
        """Those that look for what hardly any row is, or none."""
        of_job = f"jobs/{self._busiest()}/executions"
        asked = {
            "jobs that are cancelled, of which there are none": ("jobs", {"status": "CANCELLED"}),
            "executions that failed, one in a thousand": ("executions", {"status": "FAILED"}),
            "executions that failed, from a deep cursor": ("executions", {"status": "FAILED", "cursor": self._deep}),
            "executions that are being retried, which are few": ("executions", {"status": "RETRYING"}),
            "executions that are running, which are none": ("executions", {"status": "RUNNING"}),
            "executions of a job that failed, which are few": (of_job, {"status": "FAILED"}),
            "executions of a task that never ran": ("executions", {"task": "unheard_of"}),
        }
        of_admin = {
            "jobs that are paused, of which there are none": ("jobs/job/", {"status__exact": "PAUSED"}),
            "jobs with a name that none has": ("jobs/job/", {"q": "unheard of"}),
            **{
                f"executions that are {status}": ("jobs/execution/", {"status__exact": status})
                for status in ("FAILED", "RETRYING", "RUNNING", "SKIPPED", "CANCELLED")
            },
            "executions of a job that failed": (
                "jobs/execution/",
                {"job__id__exact": str(self._busiest()), "status__exact": "FAILED"},
            ),
            "an execution by its job's id": ("jobs/execution/", {"q": str(self._busiest())}),
        }
        return [
            *(Act(f"API: {name}", partial(self._ask, path, query)) for name, (path, query) in asked.items()),
            *(Act(f"admin: {name}", partial(self._look, path, query)) for name, (path, query) in of_admin.items()),
        ]

    def _ask(self, path: str, query: dict[str, str]) -> None:
        _succeeded(self._client.get(f"/api/v1/{path}", query, headers={"authorization": f"Bearer {self._token}"}))

    def _look(self, path: str, query: dict[str, str]) -> None:
        cache.clear()  # the calendar's
        _succeeded(self._admin.get(f"/admin/{path}", query))

    def _dead_letters(self) -> None:
        list(Execution.objects.for_tenant(self._tenant).dead().order_by("-pk")[: settings.PAGE_SIZE])

    def _busiest(self) -> UUID:
        """A job with history: the latest execution's."""
        return Execution.objects.filter(worker="then-1").order_by("-pk").values_list("job", flat=True)[0]

    def _middle_job(self) -> UUID:
        jobs = Job.objects.for_tenant(self._tenant).order_by("pk").values_list("pk", flat=True)
        return jobs[jobs.count() // 2]


def _cursor(position: UUID) -> str:
    """As our own answers have it in their links to the next page."""
    return b64encode(urlencode({"p": str(position)}).encode()).decode()


def _written(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _succeeded(answer) -> None:
    if answer.status_code != 200:
        raise RuntimeError(f"{answer.request['PATH_INFO']} was answered with {answer.status_code}.")
