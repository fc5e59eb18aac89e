"""How executions are packed into messages."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from execution.outbox import AHEAD, pack


@dataclass
class Waiting:
    id: UUID
    task: str
    priority: int
    attempt: int = 0


waiting = st.lists(st.builds(Waiting, st.builds(uuid4), st.sampled_from("ab"), st.sampled_from([1, 5, 9])))


@given(waiting, st.integers(1, 5), st.sampled_from([0, AHEAD]))
def test_each_execution_travels_once_with_its_like_and_the_urgent_go_first(executions, per_message, ahead) -> None:
    messages = pack(executions, lambda task: per_message, ahead)

    known = {one.id: one for one in executions}
    sent = [one for message in messages for one in message.executions]
    assert sorted(sent) == sorted(known)
    for message in messages:
        assert 1 <= len(message.executions) <= per_message
        assert {(known[one].task, known[one].priority) for one in message.executions} == {
            (message.task, message.priority - ahead)
        }
    assert [message.priority for message in messages] == sorted((m.priority for m in messages), reverse=True)
