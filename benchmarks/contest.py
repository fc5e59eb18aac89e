"""Ours, the bare pipeline and the peers in turn, round after round.

Whatever else the machine does then hits all of them, and a median of the rounds leaves out the worst of it. Only one
of them has processes at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.burst import Burst, summary
from benchmarks.fleet import fleet
from benchmarks.peers.catalogue import CannotMeasure
from benchmarks.peers.run import PEERS
from benchmarks.peers.run import measure as measure_peer
from benchmarks.sizes import Sizes
from benchmarks.throughput import BARE_CREWS, OUR_CREWS, Tried, bare, fastest, ours, prepare, told

PEER_FIGURES = ("per_s", "end_to_end_per_s", "drain_per_s")


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    our_crews, bare_crews = OUR_CREWS, BARE_CREWS
    own: Tried = {crew: [] for crew in our_crews}
    tried: Tried = {crew: [] for crew in bare_crews}
    bursts: list[Burst] = []
    peers: dict[str, list[dict[str, Any]]] = {peer.name: [] for peer in PEERS}
    with fleet() as on:
        prepare(on, sizes.history)
        for number in range(1, sizes.rounds + 1):
            for crew in our_crews:
                many, few = ours(on, sizes.jobs, sizes.burst, crew=crew)
                own[crew].append(many)
                bursts.append(few)
                say(f"round {number}: ours, {crew} {many.executions_per_s:,.0f}/s")
            for crew in bare_crews:
                tried[crew] += bare(on, sizes.jobs, crew=crew)
                say(f"round {number}: bare pipeline, {crew} {tried[crew][-1].executions_per_s:,.0f}/s")
            if number == 1:  # the further rounds go on with whoever was fastest in the first
                our_crews, bare_crews = (fastest(own),), (fastest(tried),)
            for name, rounds in peers.items():
                rounds.append(_peer(name, sizes.peer_jobs[name]))
                say(f"round {number}: {name} {rounds[-1].get('end_to_end_per_s', rounds[-1].get('error'))}")
    return {
        "ours": told(own) | {"jobs": sizes.jobs, "history": sizes.history},
        "bare": told(tried),
        "burst": {"jobs": sizes.burst, "all_started_s": summary(bursts)["all_started_s"]},
        "peers": {peer.name: _medians(peers[peer.name]) | {"keeps_history": peer.keeps_history} for peer in PEERS},
    }


def _peer(name: str, jobs: int) -> dict[str, Any]:
    """A peer that cannot be measured costs its own figures, not everybody's."""
    try:
        return measure_peer(name, jobs)
    except CannotMeasure as error:
        return {"peer": name, "jobs": jobs, "error": str(error)}


def _medians(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    measured = [one for one in rounds if "error" not in one]
    if not measured:
        return rounds[-1]
    return measured[-1] | {figure: round(median(one[figure] for one in measured), 1) for figure in PEER_FIGURES}
