"""A load of every kind, and what it says of the installation."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module, reload
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper

from accounts.models import Tenant, User
from execution.registry import registry
from jobs.demo import simulation
from jobs.demo.display import display
from jobs.demo.simulation import InvalidMix, Progress, Simulation, clean_up, read_mix
from jobs.models import Execution, Horizon, Job
from jobs.models.horizon import OF_ALL


@pytest.fixture
def demo_tasks():
    before = set(registry.names())
    reload(import_module("jobs.demo.tasks"))
    yield
    for name in set(registry.names()) - before:
        del registry._tasks[name]


def test_it_creates_what_it_was_told_to_and_reports_what_became_of_it(system, demo_tasks) -> None:
    load = Simulation(20, 1, read_mix("fast=90,recurring=10"))
    created = [one.created for one in load.run(lambda seconds: None)]

    system.run_until(lambda: not load.unfinished())
    report = load.report()

    assert created[-1] == report.created == 20
    assert report.by_status["COMPLETED"] >= 18
    assert report.throughput > 0 and report.lateness is not None
    assert not Job.objects.scheduled().exists()

    assert clean_up() >= 18
    assert not Execution.objects.exists() and not Job.objects.exists()
    assert not Tenant.objects.exists() and not User.objects.exists()


def test_cleaning_up_leaves_everything_else_alone(new_job, demo_tasks) -> None:
    kept = new_job({"type": "interval", "seconds": 3600})
    list(Simulation(8, 1, read_mix("fast=1")).run(lambda seconds: None))

    clean_up()

    assert list(Job.objects.all()) == [kept] and Tenant.objects.count() == 1


def test_it_says_so_when_part_of_what_it_made_is_pruned_already(db, demo_tasks) -> None:
    load = Simulation(4, 1, read_mix("fast=1"))
    before = load.report().pruned

    Horizon.objects.move({OF_ALL: load.started + timedelta(seconds=1)})

    assert not before and load.report().pruned


@pytest.mark.parametrize("text", ["", "fast", "fast=x", "swift=3", "fast=0"])
def test_a_mix_that_cannot_be_read_is_refused(text) -> None:
    with pytest.raises(InvalidMix):
        read_mix(text)


def test_shares_add_up_to_one() -> None:
    assert read_mix("fast=3, slow=1") == {"fast": 0.75, "slow": 0.25}
    assert sum(read_mix(simulation.MIX).values()) == pytest.approx(1)


def test_without_the_demos_tasks_it_says_what_to_set(settings) -> None:
    settings.DEMO = False

    with pytest.raises(CommandError, match="DEMO=true"):
        call_command("simulate")


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_bar_is_drawn_over_itself() -> None:
    out = Terminal()
    bar = display(OutputWrapper(out, ending="\n"), 60)

    bar.show(Progress(30, 1500, 20))
    bar.show(Progress(90, 3000, 0))

    assert out.getvalue().split("\r\033[K")[1:] == [
        f"{'█' * 15}{'░' * 15} 1,500 created, 20 waiting or running",
        f"{'█' * 30} 3,000 created, 0 waiting or running",
    ]


def test_in_a_log_a_line_every_ten_seconds_says_that_it_lives() -> None:
    out = StringIO()
    lines = display(OutputWrapper(out, ending="\n"), 60)

    for second in range(75):
        lines.show(Progress(second, 50 * second, 20))

    assert out.getvalue().splitlines() == [
        *(f"{n} s of 60 s: {50 * n:,} created, 20 waiting or running" for n in (0, 10, 20, 30, 40, 50)),
        *(f"{n} s: {50 * n:,} created, 20 waiting or running" for n in (60, 70)),
    ]


@pytest.mark.parametrize(("stream", "bars"), [(Terminal, True), (StringIO, False)])
def test_the_command_shows_how_far_it_is_as_suits_what_reads_it(settings, demo_tasks, stream, bars) -> None:
    settings.DEMO = True
    out = stream()

    call_command(
        *("simulate", "--rate", "4", "--seconds", "1", "--patience", "0", "--mix", "fast=1"),
        stdout=StringIO(),
        stderr=out,
    )

    assert "created" in out.getvalue()
    assert ("█" in out.getvalue()) is bars and out.getvalue().endswith("\n") is not bars


def test_of_jobs_that_are_created_once_it_is_told_all_the_time_how_far_they_are(db, demo_tasks) -> None:
    load = Simulation(2, 3, read_mix("recurring=1"))

    assert len([*load.run(lambda seconds: None)]) >= 4


def test_the_command_reports_and_cleans_up(settings, demo_tasks) -> None:
    settings.DEMO = True
    out = StringIO()

    call_command(
        *("simulate", "--rate", "4", "--seconds", "1", "--patience", "0", "--mix", "fast=1", "--clean"), stdout=out
    )

    assert "4 jobs created" in out.getvalue() and not Job.objects.exists()
