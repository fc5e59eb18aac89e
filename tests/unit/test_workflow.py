"""What is published has passed everything, and no step may do more than it has to."""

from __future__ import annotations

import re

import pytest

from tests.deploying import ROOT, complaints, compose, workflow

JOBS = workflow()["jobs"]
TEXT = (ROOT / ".github/workflows/ci.yml").read_text()


def test_it_is_written_as_github_specifies() -> None:
    files = (ROOT / ".github/workflows").glob("*.yml")

    assert complaints("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files) == ""


def test_nothing_may_be_written_but_by_the_job_that_publishes() -> None:
    assert workflow()["permissions"] == {"contents": "read"}
    assert [name for name, job in JOBS.items() if "permissions" in job] == ["publish"]


def test_only_a_tag_is_published_and_only_what_passed_everything_else() -> None:
    publish = JOBS["publish"]

    assert publish["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert set(publish["needs"]) == JOBS.keys() - {"publish"}


def test_the_image_comes_with_a_list_of_what_is_in_it() -> None:
    [push] = [step["with"] for step in JOBS["publish"]["steps"] if step.get("with", {}).get("push")]

    assert push["sbom"] is True and push["provenance"] == "mode=max"
    assert "cache-from" not in push  # pull requests write to the cache


@pytest.mark.parametrize("name", JOBS)
def test_each_job_ends_and_leaves_no_credentials_behind(name) -> None:
    assert JOBS[name]["timeout-minutes"] <= 60 and re.search(r"\d", JOBS[name]["runs-on"])
    assert all(step["with"]["persist-credentials"] is False for step in JOBS[name]["steps"] if "checkout" in str(step))


def test_actions_are_named_by_commit_with_the_version_beside_it() -> None:
    uses = re.findall(r"uses: (.*)", TEXT)
    pinned = [re.fullmatch(r"([\w-]+/[\w-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+", each) for each in uses]

    assert uses and all(pinned)
    assert len({each[1] for each in pinned}) == len({each[0].split(" #")[0] for each in pinned})


def test_the_tests_have_the_whole_history_for_the_previous_release_is_in_it() -> None:
    [checkout] = [step for step in JOBS["test"]["steps"] if "checkout" in str(step)]

    assert checkout["with"]["fetch-depth"] == 0


def test_no_step_puts_what_a_stranger_writes_into_a_shell() -> None:
    scripts = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]

    assert scripts and not [script for script in scripts if "${{" in script]


def test_what_is_tested_against_is_what_is_shipped() -> None:
    shipped = {name: service["image"] for name, service in compose()["services"].items()}

    assert {name: service["image"] for name, service in JOBS["test"]["services"].items()} == {
        name: shipped[name] for name in ("postgres", "redis", "rabbitmq")
    }


def test_each_make_target_it_calls_is_there() -> None:
    called = re.findall(
        r"make ([\w-]+)", "\n".join(step.get("run", "") for job in JOBS.values() for step in job["steps"])
    )

    assert set(called) == {"lint", "test", "test-long", "test-matrix"}
    assert all(re.search(rf"(?m)^{target}:", (ROOT / "Makefile").read_text()) for target in called)
