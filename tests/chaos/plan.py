"""Which faults happen when: a pure function of the seed, the duration and the mode.

Four lanes run side by side. Servers fail one at a time, since a system that has lost all of them has
nothing left to prove; processes, links and single connections fail whenever their lane says so. Each lane
deals its faults like cards: shuffled, but every one comes up before any comes up again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

QUIET_START = 3.0  # seconds for the load to get going
DATABASE, REDIS, RABBITMQ = "database", "redis", "rabbitmq"


@dataclass(frozen=True, slots=True)
class Cast:
    """Who there is to be hit: process names by role, and which servers are in use."""

    pollers: tuple[str, ...] = ("poller-1", "poller-2")
    executors: tuple[str, ...] = ("executor-1", "executor-2", "executor-3")
    recoverers: tuple[str, ...] = ("recoverer-1", "recoverer-2")
    web: tuple[str, ...] = ("web-1",)
    loader: tuple[str, ...] = ("loader",)
    servers: tuple[str, ...] = (DATABASE, REDIS, RABBITMQ)


@dataclass(frozen=True, slots=True)
class Planned:
    """A fault: at `at` seconds into the run, for `seconds`; `server` is the far end of a link."""

    at: float
    kind: str
    target: str
    server: str = ""
    seconds: float = 0.0
    strength: float = 0.0  # of a delay: seconds for each packet


FULL = Cast()
ONE_DATABASE = Cast(servers=(DATABASE,))


def plan(seed: int, seconds: float, cast: Cast, *, lease: float, poll_lease: float) -> list[Planned]:
    """All faults of a run, in the order of their beginnings."""
    dice = random.Random(f"{seed}/{'+'.join(cast.servers)}")
    lanes = [
        _servers(dice, seconds, cast),
        _processes(dice, seconds, cast, lease, poll_lease),
        _links(dice, seconds, cast),
        _backends(dice, seconds, cast),
    ]
    return sorted((fault for lane in lanes for fault in lane), key=lambda fault: fault.at)


def _deal(dice: random.Random, cards: Sequence[tuple]) -> Iterator[tuple]:
    while True:
        yield from dice.sample(cards, len(cards))


def _servers(dice: random.Random, seconds: float, cast: Cast) -> Iterator[Planned]:
    cards = [("server_restart", DATABASE, 4.0), ("server_kill", DATABASE, 5.0)]
    if REDIS in cast.servers:
        cards += [("redis_flush", REDIS, 1.0)] * 2 + [("server_kill", REDIS, 2.0)]
    if RABBITMQ in cast.servers:
        cards += [
            ("server_restart", RABBITMQ, 16.0),
            ("server_kill", RABBITMQ, 16.0),
            ("rabbitmq_alarm", RABBITMQ, 9.0),
        ]
    at = QUIET_START + dice.uniform(0, 2)
    for kind, server, takes in _deal(dice, cards):
        if at > seconds - takes / 2:
            return
        yield Planned(at, kind, server, server, dice.uniform(1.0, 3.0) if kind == "rabbitmq_alarm" else 0.5)
        at += takes + dice.uniform(8, 14)  # time to see the system work between two


def _processes(dice: random.Random, seconds: float, cast: Cast, lease: float, poll_lease: float) -> Iterator[Planned]:
    stops = {"poller": poll_lease, "executor": lease, "recoverer": 2.0}
    cards = [
        *(("kill", role, 0.0) for role in (cast.pollers, cast.executors, cast.executors, cast.recoverers, cast.web)),
        ("kill_handler", cast.executors, 0.0),
        *(("term", role, 0.0) for role in (cast.pollers, cast.executors, cast.recoverers)),
        *(("freeze", role, stops[role[0].split("-")[0]]) for role in (cast.pollers, cast.executors, cast.recoverers)),
    ]
    at = QUIET_START + dice.uniform(0, 1)
    for kind, role, longest in _deal(dice, cards):
        if at > seconds - 1:
            return
        yield Planned(at, kind, dice.choice(role), seconds=longest + dice.uniform(1, 2.5) if longest else 0.0)
        at += dice.uniform(1.5, 3.5)


def _links(dice: random.Random, seconds: float, cast: Cast) -> Iterator[Planned]:
    kinds = ("link_cut", "link_unplug", "link_delay", "link_deaf", "link_mute")
    cards = [
        (kind, name, server)
        for kind in kinds
        for role in (cast.pollers, cast.executors, cast.recoverers, cast.web, cast.loader)
        for name in role
        for server in cast.servers
        if not (server == RABBITMQ and role in (cast.web, cast.loader))  # they never talk to it
    ]
    at = QUIET_START + dice.uniform(0, 1)
    for kind, name, server in _deal(dice, cards):
        if at > seconds - 2:
            return
        lasts = 0.0 if kind == "link_cut" else dice.uniform(0.5, 4)
        yield Planned(at, kind, name, server, lasts, dice.uniform(0.02, 0.3) if kind == "link_delay" else 0.0)
        at += dice.uniform(1.5, 3)


def _backends(dice: random.Random, seconds: float, cast: Cast) -> Iterator[Planned]:
    cards = [
        (name,) for role in (cast.pollers, cast.executors, cast.recoverers, cast.web, cast.loader) for name in role
    ]
    at = QUIET_START + dice.uniform(0, 4)
    for (name,) in _deal(dice, cards):
        if at > seconds - 1:
            return
        yield Planned(at, "backend_kill", name, DATABASE)
        at += dice.uniform(4, 9)
