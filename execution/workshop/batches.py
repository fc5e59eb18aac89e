"""Runs handlers that are given many executions at once, each of which still has its own attempt, limits and outcome.

A generator answers for one after another: each answer counts from the moment it is given, and the time limit of each is
counted from the answer before. A function that returns a list answers for all at the end, so that the time limit of
each is counted from the beginning. Whoever is left without an answer through another's fault begins anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from functools import partial
from inspect import isgeneratorfunction
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError

from accounts.teams import owners_of
from execution.hiding import hidden
from execution.retry import Interrupted
from execution.run import Run
from execution.workshop.interruptible import Interruptible

if TYPE_CHECKING:
    from execution.workshop.threads import Place, ThreadWorkshop

logger = structlog.get_logger(__name__)

MAX_CHARACTERS = 400_000  # of the payloads of one call, if it is not one tenant's: up to a second to read them


class NoAnswer(Exception):
    """A handler of batches did not answer for each."""


def work_together(workshop: ThreadWorkshop, places: Sequence[Place]) -> None:
    """Have one task's handler answer for all of these."""
    for portion in portions(places):
        # One error may speak of all of them, and they may be of several tenants.
        with hidden([place.claim for place in portion]):
            while portion:
                portion = _call(workshop, portion)


def portions(places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    """Divide a batch of several tenants into calls, so that no tenant waits for all that another one has in it.

    The tenants take turns; where there is much to read, their owners do: a user can have many tenants. The payloads of
    a call are read before its first execution is run, so they are bounded.
    """
    tenants = {place.claim.tenant_id for place in places}
    if len(tenants) < 2:
        yield places
        return
    several_calls = sum(len(place.claim.payload) for place in places) > MAX_CHARACTERS
    owner_of = _owners_of(tenants) if several_calls and len(tenants) > 2 else {}
    portion: list[Place] = []
    characters = 0
    for place in taking_turns(places, owner_of):
        length = len(place.claim.payload)
        if portion and characters + length > MAX_CHARACTERS:
            yield portion
            portion, characters = [], 0
        portion.append(place)
        characters += length
    yield portion


def taking_turns(places: Sequence[Place], owner_of: Mapping[UUID, int]) -> list[Place]:
    """The same, with the first one of each owner, or of each tenant without one, before the second one of any."""
    turns: Counter[UUID | int] = Counter()
    numbered: list[tuple[int, Place]] = []
    for place in places:
        whose = owner_of.get(place.claim.tenant_id, place.claim.tenant_id)
        numbered.append((turns[whose], place))
        turns[whose] += 1
    return [place for _, place in sorted(numbered, key=itemgetter(0))]


def _owners_of(tenants: Collection[UUID]) -> Mapping[UUID, int]:
    try:
        return owners_of(tenants)
    except (DatabaseError, InterfaceError):  # then tenants take turns: the work itself may not need the database
        return {}


def _call(workshop: ThreadWorkshop, places: Sequence[Place]) -> Sequence[Place]:
    """One call of the handler; return those that it left without an answer."""
    called: list[tuple[Place, Any, str | None]] = []
    for place in places:
        try:
            task, payload, destination = workshop.runner.admitted(place.claim)
        except Exception as error:  # it cannot be read, or has to wait
            _conclude(workshop, place, partial(_told, error))
        else:
            called.append((place, payload, destination))
    if not called:
        return []
    places = [place for place, *_ in called]
    destinations = [destination for *_, destination in called]
    runs = [Run(place.claim.execution_id, place.claim.attempt, place.claim.tenant_id, place) for place in places]
    handler = partial(task.handler, [payload for _, payload, _ in called], runs)
    if isgeneratorfunction(task.handler):
        return _answered(workshop, places, destinations, handler())
    try:
        answers = _together(workshop, places, handler)
    except Interrupted as error:
        guilty = [place for place in places if place.interrupted_at is not None]
        for place in guilty:
            _conclude(workshop, place, partial(_told, error))
        return [place for place in places if place not in guilty]
    except BaseException as error:
        answers = [error] * len(places)
    return _answered(workshop, places, destinations, iter(answers))


def _together(workshop: ThreadWorkshop, places: Sequence[Place], handler: Callable[[], Any]) -> Sequence[Any]:
    """What the handler returns, while any of them being late interrupts it."""
    call = Interruptible()
    for place in places:
        place.call = call
        workshop.begin(place)
    try:
        answers = call.call(handler)
    finally:
        for place in places:
            place.call = Interruptible()
    if not isinstance(answers, (list, tuple)) or len(answers) != len(places):
        count = len(answers) if isinstance(answers, (list, tuple)) else f"a {type(answers).__name__}"
        raise NoAnswer(f"its handler answers for {len(places)} with {count}. Return a list, with an answer for each.")
    return answers


def _answered(
    workshop: ThreadWorkshop, places: Sequence[Place], destinations: Sequence[str | None], answers: Iterator[Any]
) -> Sequence[Place]:
    runner = workshop.runner
    each = Answers(answers)
    for number, (place, destination) in enumerate(zip(places, destinations, strict=True), start=1):
        _conclude(workshop, place, runner.watched(place.claim, destination, each.next))
        rest = places[number:]
        if each.given < number:
            break
        if destination is not None and isinstance(answers, Generator) and runner.destinations.is_down(destination):
            break  # the others need not find out the same: those who have to wait are told so
    if isinstance(answers, Generator):
        try:
            answers.close()
        except BaseException as error:
            logger.warning("batch.not_closed", task=places[0].claim.task, error=str(error))
    return rest


class Answers:
    """Counts what it gives."""

    def __init__(self, answers: Iterator[Any]) -> None:
        self._answers = answers
        self.given = 0

    def next(self) -> Any:
        try:
            answer = next(self._answers)
        except StopIteration:
            raise NoAnswer("its handler has ended without an answer for it. Yield one for each.") from None
        self.given += 1
        return answer


def _conclude(workshop: ThreadWorkshop, place: Place, answer: Callable[[], Any]) -> None:
    workshop.conclude(place, partial(workshop.runner.outcome, place.claim, answer))


def _told(error: BaseException) -> BaseException:
    return error
