"""What can be done, by the kind of thing that it is done to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from punctual.models import Alert, Execution, Incident, Job, Outcome
from punctual.paging import every_line, every_one
from punctual.transport import KEY_HEADER, Transport, content, segment


class Part:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class Executions(Part):
    def get(self, execution: str) -> Execution:
        return self._read(self._transport.told("GET", f"/executions/{segment(execution)}"))

    def list(self, **filters: Any) -> Iterator[Execution]:
        """Latest due time first; filters are those of the API, such as `status`, `task`, `job` and `tag`."""
        return every_one(self._transport, "/executions", filters, self._read)

    def logs(self, execution: str, *, after: str | None = None) -> Iterator[Mapping[str, Any]]:
        """The lines its handler has written so far, oldest first; those after a place, such as `2.10`, with `after`."""
        return every_line(self._transport, f"/executions/{segment(execution)}/logs", {"after": after})

    def cancel(self, execution: str) -> Execution:
        return self._read(self._transport.told("POST", f"/executions/{segment(execution)}/cancel"))

    def retry(self, execution: str) -> Execution:
        """Run one that failed for good again, with all its retries."""
        return self._read(self._transport.told("POST", f"/executions/{segment(execution)}/retry"))

    def _read(self, told: Mapping[str, Any]) -> Execution:
        return Execution.read(told, again=self.get)


class Jobs(Part):
    def create(
        self,
        task: str,
        payload: Mapping[str, Any] | None = None,
        *,
        schedule: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Job:
        """Store a job; without a schedule it runs now. With a key of your own, also another process makes no second."""
        body = {"task": task, "payload": dict(payload or {}), **more}
        if schedule is not None:
            body["schedule"] = dict(schedule)
        return self._told("POST", "/jobs", body=body, headers={KEY_HEADER: idempotency_key or str(uuid4())})

    def create_many(self, jobs: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> list[Outcome]:
        """Up to 1,000 in one call; an outcome for each, in their order."""
        headers = {KEY_HEADER: idempotency_key or str(uuid4())}
        answer = self._transport.ask("POST", "/jobs/bulk", body={"jobs": list(jobs)}, headers=headers)
        return [Outcome.read(one) for one in content(answer)["results"]]

    def get(self, job: str) -> Job:
        return self._told("GET", f"/jobs/{segment(job)}")

    def list(self, **filters: Any) -> Iterator[Job]:
        """Newest first; filters are those of the API, such as `status`, `task`, `tag` and `name`.

        A list, as in `tag=["billing", "nightly"]`, asks for jobs that have all of its tags.
        """
        return every_one(self._transport, "/jobs", filters, Job.read)

    def update(self, job: str | Job, **changes: Any) -> Job:
        """Change a job from its next due time on. Given a Job as you have read it, Conflict if it was changed since."""
        if isinstance(job, Job):
            headers = {"If-Match": job.etag} if job.etag else {}
            return self._told("PATCH", f"/jobs/{job.id}", body=changes, headers=headers)
        return self._told("PATCH", f"/jobs/{segment(job)}", body=changes)

    def delete(self, job: str) -> None:
        self._transport.ask("DELETE", f"/jobs/{segment(job)}")

    def pause(self, job: str) -> Job:
        return self._told("POST", f"/jobs/{segment(job)}/pause")

    def resume(self, job: str) -> Job:
        return self._told("POST", f"/jobs/{segment(job)}/resume")

    def cancel(self, job: str) -> Job:
        return self._told("POST", f"/jobs/{segment(job)}/cancel")

    def run(self, job: str) -> Execution:
        """Run it now, whatever its schedule says."""
        told = self._transport.told("POST", f"/jobs/{segment(job)}/run")
        return Execution.read(told, again=Executions(self._transport).get)

    def executions(self, job: str, **filters: Any) -> Iterator[Execution]:
        read = Executions(self._transport)._read
        return every_one(self._transport, f"/jobs/{segment(job)}/executions", filters, read)

    def preview(self, job: str, count: int = 10) -> Any:
        return self._transport.told("GET", f"/jobs/{segment(job)}/preview", query={"count": count})

    def _told(self, method: str, path: str, **details: Any) -> Job:
        answer = self._transport.ask(method, path, **details)
        return Job.read(content(answer), etag=answer.headers.get("ETag"))


class Tasks(Part):
    def list(self) -> list[Mapping[str, Any]]:
        """Every task with the JSON schema of its payload, and its defaults."""
        told = self._transport.told("GET", "/tasks")
        return list(told["results"])


class DeadLetters(Part):
    def groups(self, **filters: Any) -> list[Mapping[str, Any]]:
        """By cause, with how many there are of each."""
        told = self._transport.told("GET", "/dead-letters", query=filters)
        return list(told["results"])

    def replay(
        self,
        *,
        executions: Sequence[str] | None = None,
        fingerprint: str | None = None,
        filter: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Mapping[str, Any]:
        """Run them again: those with these ids, all of one cause, or all that a filter finds.

        The answer has the number in `count`, and in `more` whether some are left: then repeat the call. `payload`
        replaces their payloads. `canary` is the number of executions to try first.
        """
        return self._act("replay", _which(executions, fingerprint, filter) | more)

    def discard(
        self,
        *,
        executions: Sequence[str] | None = None,
        fingerprint: str | None = None,
        filter: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Mapping[str, Any]:
        """Take them off the list of dead letters for good, chosen as in `replay`; `reason` is kept with them."""
        return self._act("discard", _which(executions, fingerprint, filter) | more)

    def _act(self, act: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        told: Mapping[str, Any] = self._transport.told("POST", f"/dead-letters/{act}", body=body)
        return told


def _which(
    executions: Sequence[str] | None, fingerprint: str | None, filter: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The body that names dead letters. An empty list is not left out: it must not come to mean others."""
    named = {
        "executions": None if executions is None else [getattr(one, "id", one) for one in executions],
        "fingerprint": fingerprint,
        "filter": None if filter is None else dict(filter),
    }
    return {name: value for name, value in named.items() if value is not None}


class Alerts(Part):
    """Who is told of what is missed, late, failed or recovered."""

    def create(self, name: str, *, emails: Sequence[str] = (), url: str | None = None, **more: Any) -> Alert:
        """Have notices mailed to `emails` or posted to `url`; of all jobs, or with `job` or `tag` of those alone."""
        if bool(emails) == bool(url):
            raise ValueError("say where notices go: emails, or the url of a webhook.")
        where = {"channel": "webhook", "url": url} if url else {"channel": "email", "emails": list(emails)}
        return Alert.read(self._transport.told("POST", "/alerts", body={"name": name, **where, **more}))

    def get(self, alert: str) -> Alert:
        return Alert.read(self._transport.told("GET", f"/alerts/{segment(alert)}"))

    def list(self) -> Iterator[Alert]:
        return every_one(self._transport, "/alerts", {}, Alert.read)

    def update(self, alert: str, **changes: Any) -> Alert:
        return Alert.read(self._transport.told("PATCH", f"/alerts/{segment(alert)}", body=changes))

    def delete(self, alert: str) -> None:
        self._transport.ask("DELETE", f"/alerts/{segment(alert)}")

    def test(self, alert: str) -> Mapping[str, Any]:
        """Have a test notice sent; what became of it is soon in the alert's `latest_notice`."""
        told: Mapping[str, Any] = self._transport.told("POST", f"/alerts/{segment(alert)}/test")
        return told


class Incidents(Part):
    """What is or was wrong with your jobs."""

    def get(self, incident: str) -> Incident:
        return Incident.read(self._transport.told("GET", f"/incidents/{segment(incident)}"))

    def list(self, *, open: bool | None = None, **filters: Any) -> Iterator[Incident]:
        """Newest first; only those that are not over with `open`, and further filters `kind` and `job`."""
        if open is not None:
            filters["open"] = "true" if open else "false"
        return every_one(self._transport, "/incidents", filters, Incident.read)
