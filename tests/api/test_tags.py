"""Tags: short texts that jobs are grouped and found by."""

from __future__ import annotations

import pytest

from jobs.models import AuditEvent, Job, JobTerm

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}


def create(api, **job):
    return api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": HOURLY} | job)


def ids(api, query: str) -> list[str]:
    return [one["id"] for one in api.get(f"/api/v1/jobs?{query}").json()["results"]]


def test_a_job_has_tags_in_small_letters_each_once_and_in_order(api) -> None:
    job = create(api, tags=["Team:Data", " billing ", "billing", "ÄRGER", "a/b.c-d_e@f+1"]).json()

    assert job["tags"] == ["a/b.c-d_e@f+1", "billing", "team:data", "ärger"]
    assert api.get(f"/api/v1/jobs/{job['id']}").json()["tags"] == job["tags"]
    assert create(api).json()["tags"] == []


def test_jobs_are_found_by_their_tags_however_they_are_written(api) -> None:
    one, both = (create(api, tags=tags).json()["id"] for tags in (["billing"], ["billing", "eu"]))

    assert ids(api, "tag=billing") == ids(api, "tag=BILLING") == [both, one]
    assert ids(api, "tag=billing&tag=eu") == [both]
    assert ids(api, "tag=bill") == ids(api, "tag=billing&tag=us") == []


def test_a_tag_is_no_word_of_a_name_nor_the_other_way_round(api) -> None:
    tagged, named = create(api, tags=["billing"]).json()["id"], create(api, name="billing").json()["id"]

    assert ids(api, "tag=billing") == [tagged]
    assert ids(api, "name=billing") == [named]


def test_tags_are_replaced_by_a_change_and_kept_by_one_of_something_else(api) -> None:
    job = create(api, tags=["a", "b"], name="n").json()["id"]

    api.patch(f"/api/v1/jobs/{job}", {"priority": "low"})
    assert ids(api, "tag=a") == [job]
    changed = api.patch(f"/api/v1/jobs/{job}", {"tags": ["c"]}).json()

    assert changed["tags"] == ["c"]
    assert ids(api, "tag=c") == ids(api, "name=n") == [job] and ids(api, "tag=a") == []
    event = AuditEvent.objects.latest("id")
    assert (event.before["tags"], event.after["tags"]) == (["a", "b"], ["c"])
    api.patch(f"/api/v1/jobs/{job}", {"tags": []})
    assert not JobTerm.objects.filter(term__startswith="#").exists()


def test_many_jobs_in_one_call_have_tags_of_their_own(api) -> None:
    jobs = [{"task": "send_email", "payload": MAIL, "tags": [f"t{number}", "all"]} for number in range(5)]

    made = api.post("/api/v1/jobs/bulk", {"jobs": [*jobs, jobs[0] | {"tags": ["a b"]}]}).json()

    assert made["created"] == 5 and list(made["results"][5]["errors"]) == ["tags"]
    assert len(ids(api, "tag=all")) == 5
    assert ids(api, "tag=t3") == [made["results"][3]["job"]["id"]]


@pytest.mark.parametrize(
    "tags",
    [
        *("billing", {"a": 1}, None, 7),
        *([""], [" "], ["a b"], ["-a"], ["#a"], [7], [None], [["a"]], ["a,b"], ["x" * 51]),
        *([f"t{number}" for number in range(21)], ["same"] * 100),
    ],
)
def test_what_is_no_list_of_tags_is_told(api, tags) -> None:
    answer = create(api, tags=tags)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "tags"
    assert not Job.objects.exists()


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/executions"])
def test_no_list_is_asked_for_more_than_five_tags(api, path) -> None:
    five, six = ("&".join(f"tag=t{number}" for number in range(count)) for count in (5, 6))

    assert api.get(f"{path}?{five}").status_code == 200
    refused = api.get(f"{path}?{six}")
    assert refused.status_code == 400 and "5 tags at most" in refused.content.decode()


def test_twenty_tags_of_fifty_characters_are_fine(api) -> None:
    tags = [f"{number:02}" + "ß" * 24 for number in range(20)]  # a ß is written ss in small letters

    answer = create(api, tags=tags)

    assert answer.status_code == 201
    assert ids(api, f"tag={tags[7]}") == [answer.json()["id"]]
