"""What every broker promises."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from accounts.models import Tenant
from execution.broker import Broker, Inbox, Message
from jobs import ledger
from jobs.ledger import NewExecution
from jobs.models import Execution, Job
from jobs.states import Priority, Status

MOMENT = timedelta(milliseconds=100)
PATIENCE = timedelta(seconds=5)


class BrokerContract:
    """Inherit it and give it a `broker` fixture. Executions really exist: a broker may look at their rows."""

    @pytest.fixture(autouse=True)
    def arrange(self, broker: Broker, team: Tenant) -> None:
        self.broker = broker
        self.job = Job.objects.create(tenant=team, task="record")

    @pytest.fixture
    def inbox(self, broker: Broker):
        inbox = broker.subscribe(["record"], prefetch=1)
        yield inbox
        inbox.close()

    def recorded(self, priority: int = Priority.NORMAL, task: str = "record") -> UUID:
        """An execution that was recorded a moment ago."""
        now = timezone.now()
        new = NewExecution(self.job.id, self.job.tenant_id, task, priority, now)
        ledger.record([new], [], now=now, wake_at=now + PATIENCE)
        return new.id

    def publish(self, *executions: UUID, priority: int = Priority.NORMAL, task: str = "record") -> None:
        """As the outbox does: publish, then note it."""
        message = Message(task, executions, priority)
        assert self.broker.publish([message]) == [message]
        ledger.mark_queued([(one, 0) for one in executions], now=timezone.now(), wake_at=timezone.now() + PATIENCE)

    def receive(self, inbox: Inbox, limit: int = 1, wait: timedelta = PATIENCE) -> list[UUID]:
        """As the executor does: claim inside the block."""
        with inbox.take(limit, wait=wait) as ids:
            now = timezone.now()
            return [claim.id for claim in ledger.claim(ids, worker="test", now=now, until=now + PATIENCE)]

    def eventually(self, value: Callable[[], object], expected: object) -> None:
        deadline = time.monotonic() + PATIENCE.total_seconds()
        while value() != expected and time.monotonic() < deadline:
            time.sleep(0.02)
        assert value() == expected

    def test_what_it_declares_is_what_it_would_declare(self, inbox: Inbox) -> None:
        self.publish(self.recorded())
        self.receive(inbox)

        assert self.broker.mismatches(["record", "never_declared"]) == []

    def test_it_tells_the_version_of_its_server_or_nothing(self) -> None:
        assert all(part.isdigit() for part in self.broker.version().split(".")[:2] if part)

    def test_while_it_takes_messages_it_tells_of_no_alarm(self) -> None:
        assert self.broker.alarm() == ""

    def test_what_is_published_is_received(self, inbox: Inbox) -> None:
        execution = self.recorded()
        self.publish(execution)

        assert self.receive(inbox) == [execution]

    def test_what_was_received_is_not_received_again(self, inbox: Inbox) -> None:
        self.publish(self.recorded())
        self.receive(inbox)

        assert self.receive(inbox, wait=MOMENT) == []

    def test_an_empty_queue_is_waited_for_no_longer_than_asked(self, inbox: Inbox) -> None:
        started = time.monotonic()

        assert self.receive(inbox, wait=MOMENT) == []
        assert time.monotonic() - started < PATIENCE.total_seconds()

    def test_high_priority_overtakes_what_waits(self, broker: Broker) -> None:
        low = [self.recorded(Priority.LOW) for _ in range(3)]
        for one in low:
            self.publish(one, priority=Priority.LOW)
        high = self.recorded(Priority.HIGH)
        self.publish(high, priority=Priority.HIGH)

        inbox = broker.subscribe(["record"], prefetch=1)
        received = [one for _ in range(4) for one in self.receive(inbox)]
        inbox.close()

        assert received[0] == high
        assert set(received[1:]) == set(low)

    def test_what_fails_inside_the_block_is_offered_again(self, inbox: Inbox) -> None:
        execution = self.recorded()
        self.publish(execution)

        with pytest.raises(RuntimeError), inbox.take(1, wait=PATIENCE) as ids:
            assert ids == [execution]
            raise RuntimeError("the database is away")

        assert self.receive(inbox) == [execution]

    def test_executions_of_one_message_arrive_together(self, inbox: Inbox) -> None:
        executions = {self.recorded() for _ in range(5)}
        self.publish(*executions)

        assert set(self.receive(inbox, limit=5)) == executions

    def test_an_inbox_receives_its_own_tasks_only(self, inbox: Inbox) -> None:
        self.publish(self.recorded(task="send_email"), task="send_email")
        mine = self.recorded()
        self.publish(mine)

        assert self.receive(inbox, limit=10) == [mine]

    def test_a_closed_inbox_gives_back_what_it_did_not_hand_out(self, broker: Broker) -> None:
        first = broker.subscribe(["record"], prefetch=5)
        executions = {self.recorded() for _ in range(3)}
        for one in executions:
            self.publish(one)
        taken = self.receive(first)
        first.close()

        second = broker.subscribe(["record"], prefetch=5)
        rest = [one for _ in range(2) for one in self.receive(second)]
        second.close()

        assert {*taken, *rest} == executions

    def test_a_resting_inbox_leaves_everything_to_others_until_it_takes_again(self, broker: Broker) -> None:
        busy = broker.subscribe(["record"], prefetch=5)
        executions = {self.recorded() for _ in range(4)}
        for one in executions:
            self.publish(one)
        taken = self.receive(busy)

        busy.rest()
        idle = broker.subscribe(["record"], prefetch=5)
        rest = [one for _ in range(3) for one in self.receive(idle)]
        idle.close()
        again = self.recorded()
        self.publish(again)

        assert {*taken, *rest} == executions
        assert self.receive(busy) == [again]
        busy.close()

    def test_depth_counts_what_waits(self) -> None:
        for _ in range(3):
            self.publish(self.recorded())

        self.eventually(lambda: self.broker.depth("record"), 3)

    def test_the_dead_are_counted(self) -> None:
        execution = self.recorded()
        Execution.objects.filter(pk=execution).update(status=Status.FAILED)
        message = Message("record", (execution,), Priority.NORMAL)

        assert self.broker.bury([message]) == [message]
        self.eventually(self.broker.dead_letters, 1)

    def buried(self) -> UUID:
        """An execution that has failed for good."""
        time.sleep(0.002)  # ids are in the order of their milliseconds
        execution = self.recorded()
        Execution.objects.filter(pk=execution).update(status=Status.FAILED)
        self.broker.bury([Message("record", (execution,), Priority.NORMAL)])
        return execution

    def test_the_dead_are_listed_oldest_first(self) -> None:
        dead = [self.buried() for _ in range(5)]
        self.eventually(self.broker.dead_letters, 5)

        assert self.broker.buried(10) == dead
        assert self.broker.buried(2) == dead[:2]

    def test_what_is_dead_no_longer_leaves_the_dead_letters_and_the_others_stay(self) -> None:
        dead = [self.buried() for _ in range(5)]
        self.eventually(self.broker.dead_letters, 5)
        Execution.objects.filter(pk__in=dead[1:3]).update(status=Status.SCHEDULED)

        self.broker.unbury(dead[1:3])

        assert self.broker.dead_letters() == 3
        assert self.broker.buried(10) == [dead[0], *dead[3:]]

    def test_what_is_not_among_the_dead_letters_is_not_missed(self) -> None:
        dead = self.buried()
        self.eventually(self.broker.dead_letters, 1)

        assert self.broker.unbury([self.recorded()]) == 0
        assert self.broker.unbury([]) == 0
        assert self.broker.buried(10) == [dead]

    def test_a_broker_that_answers_pings(self) -> None:
        self.broker.ping()

    def test_the_most_urgent_of_several_tasks_comes_first(self, broker: Broker) -> None:
        low = self.recorded(Priority.LOW)
        self.publish(low, priority=Priority.LOW)
        high = self.recorded(Priority.HIGH, task="send_email")
        self.publish(high, priority=Priority.HIGH, task="send_email")
        inbox = broker.subscribe(["record", "send_email"], prefetch=1)
        time.sleep(0.2)  # until both have arrived, where they are pushed

        received = [one for _ in range(2) for one in self.receive(inbox)]
        inbox.close()

        assert received == [high, low]
