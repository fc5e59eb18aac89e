"""Work for a destination that is down waits, and its retries are kept for later."""

from __future__ import annotations

import smtplib
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings

from execution.destinations import Destinations, MustWait, Rules, forget, tells_of_outage
from execution.handlers.http_request import _verdict
from execution.models import Destination
from execution.outbound import Answer
from execution.registry import registry, task
from execution.release import Release
from execution.retry import DestinationDown, GiveUpNow, RetryLater
from jobs import services
from jobs.models import Attempt, Execution
from jobs.services import NewJob
from jobs.states import Status
from tests.door import Door
from tests.engine.conftest import Anything
from tests.whole.mailserver import MailServer

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
RULES = Rules(3, SECOND, 8 * SECOND, timedelta(hours=1), Release(start=5, doubling=5, cap=200))
HOST = "smtp://mail.example.com:25"
TENANT = uuid4()


class HandSet:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.time = NOON

    def now(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> HandSet:
    return HandSet()


class Process(Destinations):
    """What one process knows; it looks each time, as if a second had passed."""

    def __init__(self, clock: HandSet) -> None:
        super().__init__(clock, RULES)

    def _look(self) -> None:
        self._look_at = 0.0
        super()._look()

    def goes(self) -> bool:
        """Whether work goes on."""
        try:
            self.admit(HOST, TENANT)
        except MustWait:
            return False
        return True

    def fails(self, times: int = 1) -> datetime | None:
        for _ in range(times):
            back_at = self.failed(HOST, ConnectionRefusedError("nobody there"), TENANT)
        return back_at


@pytest.fixture
def here(clock) -> Process:
    return Process(clock)


@pytest.fixture
def there(clock) -> Process:
    return Process(clock)


def test_a_few_failures_in_a_row_make_all_others_wait_in_every_process(here, there) -> None:
    assert here.fails(2) is None
    assert here.goes() and there.goes()

    assert here.fails() is not None

    assert not here.goes() and not there.goes()


def test_work_that_waits_for_another_reason_says_nothing_of_its_destination(here, clock) -> None:
    here.fails(3)
    clock.time = Destination.objects.get().probe_at
    assert here.goes(), "as the probe"

    with pytest.raises(MustWait):
        here.judged(HOST, TENANT, lambda: MustWait("over a rate", clock.time + SECOND))

    assert Destination.objects.get().is_down


def test_failures_with_successes_in_between_change_nothing(here, there) -> None:
    for _ in range(5):
        here.fails(2)
        here.answered(HOST)

    assert here.goes() and there.goes()
    assert not Destination.objects.exists()


def test_a_success_that_was_not_told_yet_still_ends_the_row_of_failures(here, there) -> None:
    here.fails(2)
    here._known = {}  # as if the look were a moment old
    here.answered(HOST)

    here.fails()

    assert here.goes()


def test_those_who_wait_are_told_when_to_come_back_each_at_its_own_time(here, clock) -> None:
    here.fails(3)

    times = []
    for _ in range(30):
        with pytest.raises(MustWait, match=f"^waiting for {HOST}: down since 2026-11-16 12:00:00 UTC") as told:
            here.admit(HOST, TENANT)
        times.append(told.value.at)

    assert len(set(times)) == 30 and times == sorted(times)
    assert times[0] >= NOON + SECOND, "the first comes when a probe may go"
    assert times[-1] - times[0] < 6 * SECOND


def test_one_probe_goes_at_a_time_whoever_asks(here, there, clock) -> None:
    here.fails(3)
    clock.time += SECOND

    assert [here.goes(), there.goes(), here.goes(), there.goes()] == [True, False, False, False]


def test_probes_that_fail_go_more_and_more_seldom_and_cost_no_retry(here, there, clock) -> None:
    here.fails(3)

    probes = []
    while clock.time < NOON + timedelta(minutes=1):
        clock.time += SECOND / 10
        for process in (here, there):
            if process.goes():
                probes.append((clock.time - NOON).total_seconds())
                assert process.fails() is not None

    assert probes == pytest.approx([1, 3, 7, 15, 23, 31, 39, 47, 55], abs=0.11)


def test_a_probe_that_nothing_is_heard_of_is_followed_by_another(here, there, clock) -> None:
    here.fails(3)
    clock.time += SECOND
    assert here.goes()

    clock.time += timedelta(seconds=61)

    assert there.goes()


def test_after_an_answer_work_is_let_go_at_a_growing_pace(here, there, clock) -> None:
    here.fails(3)
    clock.time += SECOND
    assert here.goes()
    here.answered(HOST)

    gone = []
    for _ in range(20):
        gone.append(sum(1 for _ in iter(lambda: here.goes() or there.goes(), False)))
        clock.time += SECOND

    assert gone[0] == 1
    assert 4 <= gone[1] <= 7 and 9 <= gone[6] <= 13 and 55 <= gone[19] <= 75
    assert gone == sorted(gone) or max(abs(a - b) for a, b in zip(gone, sorted(gone), strict=True)) <= 1


def test_a_destination_that_has_recovered_leaves_nothing_behind(here, there, clock) -> None:
    here.fails(3)
    clock.time += SECOND
    assert here.goes()
    here.answered(HOST)

    clock.time += timedelta(seconds=RULES.release.over_after + 1)

    assert there.goes()
    assert not Destination.objects.exists()
    assert all(process.goes() for _ in range(50) for process in (here, there))


def test_two_failures_while_it_recovers_are_enough(here, clock) -> None:
    here.fails(3)
    clock.time += SECOND
    assert here.goes()
    here.answered(HOST)

    here.fails(2)

    clock.time += SECOND / 2
    assert not here.goes()


def test_nothing_waits_for_ever(here, clock) -> None:
    here.fails(3)
    Destination.objects.update(since=NOON - RULES.patience)
    clock.time += SECOND
    assert here.goes(), "a probe"

    with pytest.raises(DestinationDown, match="longer than work waits"):
        here.admit(HOST, TENANT)
    assert here.fails() is None, "the attempt counts"


def test_a_destination_nobody_has_talked_to_for_long_is_forgotten(here, clock) -> None:
    here.fails(2)

    clock.time += RULES.patience + SECOND
    here._look()

    assert not Destination.objects.exists()


def test_a_destination_that_is_well_costs_one_look_a_second(clock, django_assert_num_queries) -> None:
    process = Destinations(clock, RULES)

    with django_assert_num_queries(1):
        for _ in range(100):
            process.admit(HOST, TENANT)
            assert process.judged(HOST, TENANT, lambda: "done") == "done"


def test_one_that_is_closed_by_hand_is_open_to_all(here, there) -> None:
    here.fails(3)

    assert forget([HOST]) == 1

    assert here.goes() and there.goes()


def test_what_counts_as_an_outage() -> None:
    assert tells_of_outage(DestinationDown("502"))
    assert tells_of_outage(ConnectionRefusedError())
    assert tells_of_outage(TimeoutError())
    assert tells_of_outage(smtplib.SMTPServerDisconnected("gone"))
    assert tells_of_outage(smtplib.SMTPConnectError(421, "busy"))
    later = RetryLater("later", NOON)
    later.__cause__ = ConnectionResetError()
    assert tells_of_outage(later)

    assert not tells_of_outage(smtplib.SMTPDataError(554, "spam"))
    assert not tells_of_outage(smtplib.SMTPRecipientsRefused({"a@example.com": (450, b"greylisted")}))
    assert not tells_of_outage(GiveUpNow("no"))
    assert not tells_of_outage(KeyError("oops"))


@pytest.fixture
def moody(system) -> Iterator[list[Exception]]:
    """The task `record`, with a destination: `a` raises what is in the list, and is well after that."""
    raises: list[Exception] = []

    def moody(payload: Anything, run) -> str:
        if raises and payload.where == "a":
            raise raises.pop(0)
        return "done"

    registry._tasks.pop("record", None)
    task("record", payload=Anything, destination=lambda payload: f"task:record/{payload.where}")(moody)
    yield raises
    del registry._tasks["record"]


@pytest.fixture
def quick(settings) -> None:
    settings.DESTINATION_FAILURES = 3
    settings.DESTINATION_PROBE = settings.DESTINATION_PROBE_CAP = timedelta(seconds=0.3)
    settings.DESTINATION_PACE, settings.DESTINATION_PACE_CAP = 50, 200
    settings.DESTINATION_PACE_DOUBLES = timedelta(seconds=0.5)


def test_an_outage_costs_no_retry_and_no_other_destination_waits(quick, system, team, moody) -> None:
    moody += [DestinationDown("502") for _ in range(8)]
    job = services.create_job(NewJob("record", {"where": "a"}, max_retries=3), tenant=team, actor=None)
    system.run_until(lambda: Destination.objects.filter(state=Destination.State.DOWN))
    failed = len(moody)
    other = services.create_job(NewJob("record", {"where": "b"}), tenant=team, actor=None)

    system.run_until(lambda: other.executions.filter(status=Status.COMPLETED))
    assert not job.executions.filter(status=Status.COMPLETED)
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))

    execution = job.executions.get()
    assert failed == 5 and moody == []
    assert execution.attempt - execution.forgiven <= 3, "all but the first two were forgiven"
    assert Attempt.objects.filter(execution=execution).count() == 8, "what was not tried leaves no row"
    assert execution.error == ""


def test_nobody_can_keep_others_from_a_place(quick, system, team, charlie, moody) -> None:
    moody += [DestinationDown("502") for _ in range(100)]
    spoiled = services.create_job(NewJob("record", {"where": "a"}), tenant=team, actor=None)
    system.run_until(lambda: Destination.objects.filter(state=Destination.State.DOWN))
    moody.clear()
    row = Destination.objects.get()

    other = services.create_job(NewJob("record", {"where": "a"}), tenant=charlie.tenants.get(), actor=None)
    system.run_until(lambda: other.executions.filter(status=Status.COMPLETED))

    assert row.title == "task:record/a" and row.name == f"{team.pk} task:record/a"
    assert other.executions.get().attempt == 1
    system.run_until(lambda: spoiled.executions.filter(status=Status.COMPLETED))


@pytest.mark.parametrize(("status", "outage"), [(503, True), (500, True), (429, False), (404, False)])
@pytest.mark.parametrize("asks", [{}, {"retry-after": "7"}])
def test_what_a_web_server_s_answer_tells(status, outage, asks) -> None:
    verdict = _verdict(Answer(status, asks, b"no", truncated=False))

    assert tells_of_outage(verdict) is outage


@pytest.mark.parametrize("one_by_one", [True, False])
def test_of_a_batch_those_wait_that_would_only_find_out_the_same(quick, system, team, one_by_one) -> None:
    tried: list[int] = []

    def each(payloads: list[Anything], runs: list) -> Iterator[Any]:
        for payload in payloads:
            tried.append(payload.number)
            yield DestinationDown("502") if len(tried) <= 4 else payload.number

    def together(payloads: list[Anything], runs: list) -> list[Any]:
        tried.extend(payload.number for payload in payloads)
        return [DestinationDown("502") if len(tried) <= 20 else payload.number for payload in payloads]

    registry._tasks.pop("record", None)
    task("record", payload=Anything, batch=True, destination=lambda payload: "task:record")(
        each if one_by_one else together
    )
    try:
        services.create_jobs([NewJob("record", {"number": n}) for n in range(20)], tenant=team, actor=None)
        system.run_until(lambda: Destination.objects.filter(state=Destination.State.DOWN))
        while_down = len(tried)
        system.run_until(lambda: Execution.objects.completed().count() == 20)
    finally:
        del registry._tasks["record"]

    assert while_down <= (settings.EXECUTOR_THREADS + 3 if one_by_one else 20)
    assert sorted(Execution.objects.values_list("result", flat=True)) == list(range(20))


def test_a_permanent_refusal_is_no_outage(quick, system, team, moody) -> None:
    moody += [GiveUpNow("550 no such user") for _ in range(4)]
    jobs = [services.create_job(NewJob("record", {"where": "a"}), tenant=team, actor=None) for _ in range(4)]

    system.run_until(lambda: Execution.objects.dead().count() == 4)

    assert not Destination.objects.exists() and len(jobs) == 4


@pytest.fixture
def mailserver() -> Iterator[MailServer]:
    server = MailServer()
    server.start()
    yield server
    server.stop()


def test_mails_wait_out_an_outage_and_the_server_is_not_hammered(quick, settings, system, team, mailserver) -> None:
    door = Door("127.0.0.1", mailserver.port)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", door.port
    door.shut = True
    mails = [NewJob("send_email", {"to": "a@example.com", "subject": f"{n}", "body": "."}) for n in range(60)]
    services.create_jobs(mails, tenant=team, actor=None)
    began = time.monotonic()
    system.run_until(lambda: Execution.objects.filter(error__startswith="waiting for smtp://").count() >= 40)
    system.run_until(lambda: door.knocks >= settings.DESTINATION_FAILURES + 3)
    lasted, knocks = time.monotonic() - began, door.knocks

    door.shut = False
    system.run_until(lambda: Execution.objects.filter(status=Status.COMPLETED).count() == 60)

    probes = lasted / settings.DESTINATION_PROBE.total_seconds() + 1
    assert knocks <= settings.DESTINATION_FAILURES + settings.EXECUTOR_THREADS + probes
    assert {mail["Subject"] for mail in mailserver.inbox} == {str(n) for n in range(60)}
    assert len(mailserver.inbox) == 60
    assert not Execution.objects.dead().exists()
    door.unplug()
