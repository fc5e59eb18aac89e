"""How many due schedules a second django-celery-beat turns into messages.

All schedules are due when beat starts; counted is what arrives in RabbitMQ, from the first message to the last one.
Reading the schedules at the start is left out, in its favour, and told apart.
"""

from __future__ import annotations

import time

from benchmarks.peers.catalogue import version
from benchmarks.peers.crew import crew
from benchmarks.peers.place import arrivals, own_place

PACKAGE = "django-celery-beat"
MODULE = "benchmarks.peers.beat_schedules"
BEAT = ("celery", "-A", MODULE, "beat", "--loglevel", "ERROR")
GLANCE = 0.05  # seconds between two looks at the queue
PATIENCE = 120  # seconds until the rate reached so far has to do
START_PATIENCE = 60  # seconds for everything to be stored, and for the first message


def measure_beat(schedules: int, *, patience: float = PATIENCE) -> dict[str, float | str]:
    """Schedules dispatched a second, when so many are due at once."""
    told: dict[str, float | str] = {"peer": PACKAGE, "version": version(PACKAGE), "schedules": schedules}
    with own_place(("AMQP_URL", "DATABASE_URL")) as place, crew(place) as on:
        on.run(MODULE, str(schedules), patience=START_PATIENCE)
        place.tidy()
        started = time.monotonic()
        on.start(*BEAT, "--schedule", str(place.folder / "schedule"), "--pidfile", "")
        with arrivals(place.name) as arrived:
            while not (before := arrived()):
                on.check()
                if time.monotonic() > started + START_PATIENCE:
                    raise TimeoutError(f"{PACKAGE} sent nothing within {START_PATIENCE} s.")
                time.sleep(GLANCE)
            first = time.monotonic()
            while (now := arrived()) < schedules and time.monotonic() < first + patience:
                on.check()
                time.sleep(GLANCE)
            took = time.monotonic() - first
    return told | {
        "dispatched": now,
        "dispatched_per_s": round((now - before) / took, 1),
        "first_after_s": round(first - started, 1),
    }
