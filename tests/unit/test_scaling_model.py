"""The model of large loads: its arithmetic, with made-up costs, and that it can tell what was measured."""

from __future__ import annotations

import pytest

from benchmarks.report.page import END, NoPlace
from benchmarks.scaling import lateness
from benchmarks.scaling.__main__ import BEGIN, PAGE, filled
from benchmarks.scaling.costs import Costs, read_costs
from benchmarks.scaling.needs import Assumed, need, saturates_first
from benchmarks.scaling.telling import TOLERANCE, told

CPU = {"PostgreSQL": 70.0, "Redis": 7.0, "RabbitMQ": 1.0, "poller": 14.0, "executor": 21.0, "handlers": 28.0}
COSTS = Costs(
    mode="full",
    cores=2,
    cpu_us=CPU,
    measured_per_s=14_000.0,
    wal_bytes=2_000.0,
    row_bytes=500.0,
    delete_us=100.0,
    drop_us=1.0,
)


def test_the_model_tells_what_the_machine_did_that_it_was_measured_on() -> None:
    for costs in read_costs():
        assert abs(costs.error) <= TOLERANCE, costs.mode


def test_the_simulation_tells_the_burst_that_was_measured() -> None:
    full = read_costs()[0]

    late = lateness.burst(10_000, full.measured_per_s, full.round_s)

    assert late.max_s == pytest.approx(full.burst_s, rel=2 * TOLERANCE)


def test_what_two_cores_can_do_is_their_time_over_the_costs() -> None:
    assert COSTS.total_us == 141.0
    assert COSTS.predicted_per_s == pytest.approx(2e6 / 141)
    assert COSTS.error == pytest.approx(2e6 / 141 / 14_000 - 1)


def test_needs_grow_with_the_load() -> None:
    at = need(COSTS, 100_000)

    assert at.postgres_cores == pytest.approx(10.0)  # 7 cores' worth, 70 % busy
    assert at.redis_cores == pytest.approx(1.0)
    assert (at.pollers, at.executors) == (2, 3)
    assert at.handler_cores == pytest.approx(4.0)
    assert at.log_mb == pytest.approx(200.0)
    assert at.disk_gb == pytest.approx(4_320.0)
    assert at.partitions_a_day == 22
    assert (at.delete_cores, at.drop_cores) == (pytest.approx(10.0), pytest.approx(0.1))


def test_there_are_two_of_each_so_that_one_may_die() -> None:
    at = need(COSTS, 1)

    assert (at.pollers, at.executors, at.partitions_a_day) == (2, 2, 1)


def test_handlers_that_wait_need_threads_and_these_need_executors() -> None:
    at = need(COSTS, 1_000, Assumed(handler_ms=500, threads=10))

    assert at.executors == 50


@pytest.mark.parametrize(
    ("assumed", "first", "per_s"),
    [
        (Assumed(log_mb=100), "PostgreSQL's log", 50_000),
        (Assumed(log_mb=1_000, server_cores=8), "PostgreSQL's cores", 80_000),
        (Assumed(log_mb=1_000), "one Redis", 100_000),
    ],
)
def test_what_cannot_be_added_to_is_used_up_first(assumed, first, per_s) -> None:
    assert saturates_first(COSTS, assumed) == (first, pytest.approx(per_s))


def test_without_redis_there_is_none_to_be_used_up() -> None:
    alone = COSTS._replace(cpu_us=CPU | {"Redis": 0.0, "RabbitMQ": 0.0})

    assert saturates_first(alone, Assumed(log_mb=10_000))[0] == "PostgreSQL's cores"
    assert "Redis, cores" not in told([alone])


@pytest.mark.parametrize("load", [0.1, 0.5, 0.8])
def test_rounds_under_load_grow_as_queueing_theory_says(load) -> None:
    late = lateness.simulate(load * 10_000, 10_000, 0.005)

    assert lateness.price_of_a_round(late.p50_s, load) == pytest.approx(0.005, rel=0.1)


def test_lateness_grows_without_end_beyond_what_can_be_done() -> None:
    below, beyond = (lateness.simulate(part * 10_000, 10_000, 0.005, seconds=10) for part in (0.9, 1.2))

    assert below.p99_s < 0.2 < 1 < beyond.p99_s


def test_the_last_of_a_burst_starts_when_all_are_done() -> None:
    assert lateness.burst(10_000, 10_000, 0.005).max_s == pytest.approx(1 + 5 * 0.005)


def test_the_words_around_it_are_kept() -> None:
    page = f"before\n{BEGIN}\n{END}\nafter\n"

    assert filled(filled(page, "old"), "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    with pytest.raises(NoPlace):
        filled("no marks", "new")


def test_the_page_says_what_the_model_says() -> None:
    """Made by `python -m benchmarks.scaling --write-docs`."""
    page = PAGE.read_text(encoding="utf-8")

    assert filled(page, told(read_costs())) == page
