"""Which tests run where, and with whom."""

from pathlib import Path, PurePath

from tests.servers import modes, shares, where
from tests.servers.modes import Mode, Part

TESTS = Path(__file__).resolve().parents[1]
FILES = [
    PurePath(name)
    for name in (
        "api/test_jobs.py",
        "api/test_filters.py",
        "engine/test_path.py",
        "engine/test_plans.py",
        "engine/rabbitmq/test_plans.py",
        "whole/test_run_all.py",
    )
]
A_BROWSERS = PurePath("browser/test_dashboard.py")


def asked_in(mode: Mode) -> list[str]:
    return [str(file) for file in FILES if where.tells_something(file, mode)]


def test_what_ends_at_postgresql_is_not_asked_of_it_a_second_time() -> None:
    assert asked_in(Mode.EMBEDDED) == asked_in(Mode.DATABASE) == list(map(str, FILES))
    assert asked_in(Mode.FULL) == [
        "api/test_jobs.py",
        "engine/test_path.py",
        "engine/rabbitmq/test_plans.py",
        "whole/test_run_all.py",
    ]


def test_a_browser_sees_no_difference_between_the_modes() -> None:
    assert [mode for mode in Mode if where.tells_something(A_BROWSERS, mode)] == [Mode.EMBEDDED]


def test_every_file_that_is_named_exists() -> None:
    named = [TESTS / "api" / name for name in where.REACH_SERVERS]
    named += [TESTS / "engine" / name for name in where.END_AT_THE_DATABASE]
    named += [TESTS.parent / name for name in (*shares.TOGETHER, *modes.LONG)]

    assert [path for path in named if not path.exists()] == []


def test_each_test_is_in_one_of_the_two_parts() -> None:
    quick, long, both = (modes.command([], first=True, part=part) for part in (Part.QUICK, Part.LONG, Part.ALL))

    passed_over = [word.removeprefix("--ignore=") for word in quick if word.startswith("--ignore=")]
    assert passed_over == [word for word in long if word.startswith("tests/")] == list(modes.LONG)
    assert not [word for word in both if "tests/" in word]


def test_what_a_change_must_pass_has_both_parts() -> None:
    steps = (TESTS.parent / ".ci" / "run").read_text().splitlines()

    assert {"make lint", "make test", "make test-long"} <= set(steps)


def test_those_who_share_a_browser_run_together_and_most_tests_by_themselves() -> None:
    browsing = ("tests/browser/test_dashboard.py::test_a", "tests/browser/test_admin_jobs.py::test_b")
    alone = ("tests/unit/test_ids.py::test_a[1]", "tests/unit/test_ids.py::test_a[2]")

    assert len(set(map(shares.company, browsing))) == 1
    assert len(set(map(shares.company, alone))) == 2
