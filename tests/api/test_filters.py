"""Lists are narrowed down by what they are asked for, and by nothing that is not understood."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from execution.registry import registry, task
from jobs.ids import execution_id, new_job_id
from jobs.models import Execution, Job
from jobs.models import execution as execution_module
from jobs.states import Cause, JobStatus, Status
from tests.conftest import client_of

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def rare_task():
    """A second task."""
    from pydantic import RootModel

    task("rare", payload=RootModel[dict])(lambda payload, run: None)
    yield "rare"
    del registry._tasks["rare"]


def create(api, **job) -> str:
    answer = api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": HOURLY} | job)
    assert answer.status_code == 201, answer.json()
    return answer.json()["id"]


def found(api, path: str, query: str = "") -> list[str]:
    answer = api.get(f"/api/v1/{path}?{query}")
    assert answer.status_code == 200, answer.json()
    return [one["id"] for one in answer.json()["results"]]


def record(job: str, due: datetime = NOON, cause: Cause = Cause.SCHEDULE, **values) -> str:
    of = Job.objects.get(pk=job)
    kept = {"task": of.task, "priority": of.priority, "status": Status.COMPLETED} | values
    one = Execution.objects.create(
        id=execution_id(of.id, due, cause),
        job=of,
        tenant=of.tenant,
        cause=cause,
        due_at=due,
        not_before=due,
        recorded_at=due,
        **kept,
    )
    return str(one.id)


class TestJobs:
    @pytest.mark.parametrize("status", list(JobStatus))
    def test_by_status(self, api, status) -> None:
        jobs = {JobStatus.ACTIVE: create(api), JobStatus.PAUSED: create(api), JobStatus.CANCELLED: create(api)}
        jobs[JobStatus.FINISHED] = create(api)
        api.post(f"/api/v1/jobs/{jobs[JobStatus.PAUSED]}/pause")
        api.post(f"/api/v1/jobs/{jobs[JobStatus.CANCELLED]}/cancel")
        Job.objects.filter(pk=jobs[JobStatus.FINISHED]).update(status=JobStatus.FINISHED, next_run_at=None)

        assert found(api, "jobs", f"status={status}") == [jobs[status]]

    def test_by_task_priority_and_owner_alone_and_together(self, api, bob, team, rare_task) -> None:
        bobs = client_of(bob, team)
        one = create(api)
        two = create(api, task=rare_task, payload={}, priority="high")
        three = create(bobs, task=rare_task, payload={})
        four = create(bobs, priority="high")

        assert found(api, "jobs", "task=rare") == [three, two]
        assert found(api, "jobs", "priority=high") == [four, two]
        assert found(api, "jobs", "user=bob") == [four, three]
        assert found(api, "jobs", "user=alice&priority=normal") == [one]
        assert found(api, "jobs", "user=bob&task=rare&priority=normal") == [three]
        assert found(api, "jobs", "user=nobody") == found(api, "jobs", "task=unheard_of") == []

    def test_by_the_window_of_creation(self, api, team) -> None:
        jobs = []
        for hours in range(3):
            at = NOON + hours * HOUR
            jobs.append(str(Job.objects.create(id=new_job_id(at), tenant=team, task="send_email").pk))
            Job.objects.filter(pk=jobs[-1]).update(created_at=at)

        assert found(api, "jobs", "created_after=2026-11-16T13:00:00Z") == jobs[:0:-1]
        assert found(api, "jobs", "created_before=2026-11-16T13:00:00Z") == jobs[:1]
        window = "created_after=2026-11-16T13:00:00%2B00:00&created_before=2026-11-16T14:00:00Z"
        assert found(api, "jobs", window) == [jobs[1]]

    def test_a_job_that_was_just_made_is_in_the_window_that_begins_with_it(self, api) -> None:
        job = create(api)
        at = Job.objects.get().created_at.isoformat().replace("+00:00", "Z")

        assert found(api, "jobs", f"created_after={at}") == [job]
        assert found(api, "jobs", f"created_before={at}") == []

    def test_by_the_window_of_the_next_run(self, api) -> None:
        runs = [{"type": "once", "run_at": f"2090-01-01T{hour:02}:00:00Z"} for hour in (1, 2, 3)]
        first, second, third = (create(api, schedule=schedule) for schedule in runs)
        paused = create(api)
        api.post(f"/api/v1/jobs/{paused}/pause")

        assert found(api, "jobs", "start_time=2090-01-01T02:00:00Z") == [third, second]
        assert found(api, "jobs", "end_time=2090-01-01T02:00:00Z") == [first]
        assert found(api, "jobs", "start_time=2090-01-01T02:00:00Z&end_time=2090-01-01T03:00:00Z") == [second]

    def test_by_the_words_of_the_name(self, api) -> None:
        weekly = create(api, name="Weekly Report (EU) for Café")
        daily = create(api, name="daily-report_2")
        create(api, name="Airport")
        create(api)

        assert found(api, "jobs", "name=report") == [daily, weekly]
        assert found(api, "jobs", "name=REP") == [daily, weekly]
        assert found(api, "jobs", "name=cafe") == found(api, "jobs", "name=rep+week") == [weekly]
        assert found(api, "jobs", "name=port") == []
        assert found(api, "jobs", "name=report+nothing") == []

    def test_a_job_is_found_by_its_new_name_and_no_longer_by_the_old(self, api) -> None:
        job = create(api, name="old name", tags=["kept"])

        api.patch(f"/api/v1/jobs/{job}", {"name": "new name"})

        assert found(api, "jobs", "name=old") == []
        assert found(api, "jobs", "name=new") == found(api, "jobs", "tag=kept") == [job]

    def test_deleted_jobs_are_found_by_nothing(self, api) -> None:
        job = create(api, name="gone", tags=["gone"])
        api.delete(f"/api/v1/jobs/{job}")

        for query in ("", "name=gone", "tag=gone", "task=send_email", "user=alice", "status=ACTIVE"):
            assert found(api, "jobs", query) == []

    def test_charlie_finds_nothing_of_alices_by_any_filter(self, api, charlie) -> None:
        create(api, name="secret", tags=["secret"])

        for query in ("name=secret", "tag=secret", "task=send_email", "user=alice", "priority=normal", "status=ACTIVE"):
            assert found(client_of(charlie), "jobs", query) == []


class TestExecutions:
    @pytest.mark.parametrize("status", list(Status))
    def test_by_status(self, api, status) -> None:
        job = create(api)
        rows = {
            one: record(job, NOON + place * HOUR, status=one, wake_at=None if place > 3 else NOON)
            for place, one in enumerate(Status)
        }

        assert found(api, "executions", f"status={status}") == [rows[status]]
        assert found(api, f"jobs/{job}/executions", f"status={status}") == [rows[status]]

    def test_by_cause(self, api) -> None:
        job = create(api)
        rows = {cause: record(job, NOON, cause) for cause in Cause}

        for cause, one in rows.items():
            assert found(api, "executions", f"cause={cause}") == [one]

    def test_by_the_window_of_due_times(self, api) -> None:
        job = create(api)
        first, second, third = (record(job, NOON + hours * HOUR) for hours in range(3))
        within = record(job, NOON + timedelta(microseconds=500))

        assert found(api, "executions", "start_time=2026-11-16T13:00:00Z") == [third, second]
        assert found(api, "executions", "end_time=2026-11-16T12:00:00.000400Z") == [first]
        assert found(api, "executions", "start_time=2026-11-16T12:00:00.000400Z&end_time=2026-11-16T13:00:00Z") == [
            within
        ]

    def test_by_job_also_of_one_that_was_deleted(self, api, charlie) -> None:
        job, other = create(api), create(api)
        one, another = record(job), record(other)
        api.delete(f"/api/v1/jobs/{job}")

        assert found(api, "executions", f"job={job}") == [one]
        assert found(api, "executions", f"job={other}") == [another]
        assert found(api, "executions", f"job={uuid4()}") == found(client_of(charlie), "executions", f"job={job}") == []
        assert api.get(f"/api/v1/executions/{one}").status_code == 200

    def test_by_the_tags_of_the_job(self, api) -> None:
        both, one, none = create(api, tags=["a", "b"]), create(api, tags=["a"]), create(api)
        rows = [record(job, NOON + place * HOUR) for place, job in enumerate((both, one, none))]

        assert found(api, "executions", "tag=a") == [rows[1], rows[0]]
        assert found(api, "executions", "tag=a&tag=B") == [rows[0]]
        assert found(api, "executions", "tag=c") == []
        api.delete(f"/api/v1/jobs/{both}")
        assert found(api, "executions", "tag=b") == [rows[0]]

    @pytest.mark.parametrize("most", [0, 1000])
    def test_by_task_and_priority_as_they_were_then_however_many_jobs_there_are(
        self, api, rare_task, monkeypatch, most
    ) -> None:
        monkeypatch.setattr(execution_module, "MOST_JOBS", most)
        usual, rare = create(api, tags=["t"]), create(api, task=rare_task, payload={}, priority="high", tags=["t"])
        before = [record(usual), record(rare, NOON + HOUR)]
        api.patch(f"/api/v1/jobs/{rare}", {"task": "send_email", "payload": MAIL, "priority": "low"})
        after = record(rare, NOON + 2 * HOUR)

        assert found(api, "executions", "task=rare") == [before[1]]
        assert found(api, "executions", "task=send_email") == [after, before[0]]
        assert found(api, "executions", "priority=high") == [before[1]]
        assert found(api, "executions", "priority=low") == [after]
        assert found(api, "executions", "priority=low&task=rare") == []
        assert found(api, "executions", "tag=t") == [after, before[1], before[0]]


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("jobs", "stauts=PAUSED", "stauts"),
        ("jobs", "cause=run_now", "cause"),
        ("executions", "name=x", "name"),
        ("executions", "expand=last_execution", "expand"),
        ("jobs", "status=ASLEEP", "status"),
        ("jobs", "status=", "status"),
        ("jobs", "status=ACTIVE&status=PAUSED", "status"),
        ("jobs", "priority=urgent", "priority"),
        ("jobs", "priority=5", "priority"),
        ("jobs", "tag=a+b", "tag"),
        ("jobs", "tag=%25s%25d", "tag"),
        ("jobs", "task=%25s&stauts=%25s", "stauts"),
        ("jobs", "tag=" + "x" * 51, "tag"),
        ("jobs", "name=%21%21", "name"),
        ("jobs", "name=a+b+c+d+e+f", "name"),
        ("jobs", "name=" + "x" * 201, "name"),
        ("jobs", "task=a%00b", "task"),
        ("jobs", "user=a%00b", "user"),
        ("jobs", "name=a%00b", "name"),
        ("jobs", "task=" + "x" * 101, "task"),
        ("jobs", "start_time=tomorrow", "start_time"),
        ("jobs", "end_time=0001-01-01T00:00:00Z", "end_time"),
        ("jobs", "created_after=0001-01-01T00:00:00%2B14:00", "created_after"),
        ("jobs", "created_before=9999-12-31T23:59:59.999999-14:00", "created_before"),
        ("jobs", "expand=owner", "expand"),
        ("jobs", "page_size=0", "page_size"),
        ("jobs", "page_size=201", "page_size"),
        ("jobs", "page_size=ten", "page_size"),
        ("jobs", "page_size=%D9%A1", "page_size"),
        ("jobs", "cursor=nonsense", "cursor"),
        ("jobs", "cursor=cD1mb28%3D", "cursor"),
        ("jobs", "cursor=bz0xMDAw", "cursor"),
        ("executions", "job=nonsense", "job"),
        ("executions", "status=x", "status"),
        ("executions", "cause=x", "cause"),
        ("executions", "end_time=1969-12-31T23:59:59Z", "end_time"),
        ("jobs/{job}/executions", "stauts=x", "stauts"),
    ],
)
def test_what_is_not_understood_is_told_by_name_and_never_ignored(api, path, query, field) -> None:
    path = path.format(job=create(api))

    answer = api.get(f"/api/v1/{path}?{query}")

    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    [fault] = answer.json()["errors"]
    assert fault["field"] == field


def test_an_unknown_name_is_told_those_that_are_known(api) -> None:
    [fault] = api.get("/api/v1/jobs?stauts=PAUSED").json()["errors"]

    assert "Allowed: status, task, tag, name, user, priority, created_after" in fault["message"]
    assert "cursor, page_size, expand" in fault["message"]


def test_pages_neither_repeat_nor_miss_a_job_while_others_are_made(api) -> None:
    jobs = [create(api) for _ in range(7)]
    seen, address = [], "/api/v1/jobs?page_size=3"
    while address:
        page = api.get(address).json()
        seen += [one["id"] for one in page["results"]]
        address = page["next"]
        create(api)

    assert seen == jobs[::-1]
    assert [one["id"] for one in api.get(page["previous"]).json()["results"]] == jobs[3:0:-1]


@pytest.mark.parametrize("query", ["tag=t", "task=send_email", "priority=normal&tag=t&cause=schedule"])
def test_pages_of_few_jobs_executions_neither_repeat_nor_miss_one_in_either_direction(api, query) -> None:
    jobs = [create(api, tags=["t"]) for _ in range(3)]
    rows = [record(jobs[place % 3], NOON + place * HOUR) for place in range(8)]
    seen, address, pages = [], f"/api/v1/executions?page_size=3&{query}", []
    while address:
        page = api.get(address).json()
        pages.append([one["id"] for one in page["results"]])
        seen += pages[-1]
        address = page["next"]

    assert seen == rows[::-1]
    for before in reversed(pages[:-1]):
        page = api.get(page["previous"]).json()
        assert [one["id"] for one in page["results"]] == before


@pytest.mark.parametrize("path", ["jobs", "executions"])
def test_nothing_is_counted(api, path) -> None:
    record(create(api))

    with CaptureQueriesContext(connection) as asked:
        api.get(f"/api/v1/{path}")

    assert not [one["sql"] for one in asked if "COUNT(" in one["sql"].upper()]


class TestExpanding:
    def test_the_execution_of_the_latest_due_time_is_shown_with_each_job(self, api) -> None:
        ran, new = create(api), create(api)
        record(ran, NOON)
        last = record(ran, NOON + HOUR, status=Status.FAILED)

        shown = {
            one["id"]: one["last_execution"] for one in api.get("/api/v1/jobs?expand=last_execution").json()["results"]
        }

        assert shown[new] is None
        assert (shown[ran]["id"], shown[ran]["status"], shown[ran]["job"]) == (last, "FAILED", ran)
        assert api.get(f"/api/v1/jobs/{ran}?expand=last_execution").json()["last_execution"] == shown[ran]
        assert "last_execution" not in api.get(f"/api/v1/jobs/{ran}").json()

    def test_many_jobs_cost_as_many_statements_as_one(self, api) -> None:
        cost = []
        for more in (1, 20):
            for _ in range(more):
                record(create(api))
            with CaptureQueriesContext(connection) as asked:
                api.get("/api/v1/jobs?expand=last_execution")
            cost.append(len(asked))
        with CaptureQueriesContext(connection) as plain:
            api.get("/api/v1/jobs")

        assert cost[0] == cost[1] == len(plain) + 1

    def test_a_wrong_wish_is_told(self, api) -> None:
        job = create(api)

        answer = api.get(f"/api/v1/jobs/{job}?expand=payload")

        assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == "expand"
