"""How many tasks a second another system completes: `python -m benchmarks.peers.run NAME COUNT`.

The task does nothing, as in our own measurement. Two rounds are run with warm workers, and the larger figure is the
headline, so that every peer is taken at its best:

- end to end: from the first enqueueing to the last completion, producer and workers at the same time;
- drain: the queue is filled while the workers are paused, then measured from their resuming to the last completion,
  the enqueueing left out.

Ours is measured from the due time to the last completion, with recording and publishing in between: the first figure
is the like of it, the second one is a favour. A peer that keeps history is done when its table says so.
"""

from __future__ import annotations

import json
import signal
import sys
import time

from benchmarks.peers.beat import measure_beat
from benchmarks.peers.catalogue import PEERS, CannotMeasure, Peer, named
from benchmarks.peers.crew import Crew, Producer, crew
from benchmarks.peers.place import Place, own_place

__all__ = ["PEERS", "measure", "measure_beat"]

WARM_UP = 500  # tasks
WARM_UPS = 2  # the first may be done by the worker that is up first
SETTLE = 1.0  # seconds for what was enqueued or completed to come to rest
GLANCE = 0.01  # seconds between two looks at how far it got
PATIENCE = 300  # seconds a round


def measure(name: str, jobs: int) -> dict[str, float | str]:
    """Completed tasks a second of the peer with this name."""
    peer = named(name)
    told: dict[str, float | str] = {"peer": peer.name, "version": peer.version, "jobs": jobs}
    with own_place(peer.needs) as place, crew(place) as workers:
        producer = workers.producer("benchmarks.peers.inside", peer.module, "produce")
        producer.wait(PATIENCE)
        for _ in range(peer.processes):
            workers.start("benchmarks.peers.inside", peer.module, "work")
        for _ in range(WARM_UPS):
            _end_to_end(peer, place, workers, producer, WARM_UP)
            time.sleep(SETTLE)
        place.tidy()
        whole = jobs / _end_to_end(peer, place, workers, producer, jobs)
        time.sleep(SETTLE)
        place.tidy()
        drain = jobs / _drain(peer, place, workers, producer, jobs)
    figures = {"per_s": max(whole, drain), "end_to_end_per_s": whole, "drain_per_s": drain}
    return told | {figure: round(value, 1) for figure, value in figures.items()}


def _end_to_end(peer: Peer, place: Place, workers: Crew, producer: Producer, jobs: int) -> float:
    """Seconds from the first enqueueing to the last completion."""
    expected = place.completed + jobs
    start = time.monotonic()
    producer.enqueue(jobs)
    _wait(peer, place, workers, expected, jobs)
    end = time.monotonic()
    producer.wait(PATIENCE)
    return end - start


def _drain(peer: Peer, place: Place, workers: Crew, producer: Producer, jobs: int) -> float:
    """Seconds that the workers need for a queue that is full when they begin."""
    expected = place.completed + jobs
    workers.pause()
    producer.enqueue(jobs)
    producer.wait(PATIENCE)
    time.sleep(SETTLE)
    start = time.monotonic()
    workers.resume()
    _wait(peer, place, workers, expected, jobs)
    return time.monotonic() - start


def _wait(peer: Peer, place: Place, workers: Crew, expected: int, jobs: int) -> None:
    deadline = time.monotonic() + PATIENCE
    # The table is asked only when the file says that all is done: counting rows would cost the peer its time.
    while place.completed < expected or (peer.keeps_history and place.count(peer.on_record) < expected):
        workers.check()
        if time.monotonic() > deadline:
            done = jobs - (expected - place.completed)
            raise TimeoutError(f"{peer.name} ran {done} of {jobs} tasks within {PATIENCE} s.")
        time.sleep(GLANCE)


def main(name: str, count: int) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # an exit that cleans up, as Ctrl-C does
    try:
        print(json.dumps(measure_beat(count) if name == "beat" else measure(name, count)))
    except CannotMeasure as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
