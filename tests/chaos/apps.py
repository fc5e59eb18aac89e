"""Loaded into the real processes: switches on the deliberate defect and the trip they were started with."""

from __future__ import annotations

import os

from django.apps import AppConfig


class ChaosConfig(AppConfig):
    name = "tests.chaos"

    def ready(self) -> None:
        from tests.chaos import trips, variants

        # Handlers may run in children of the executor: they inherit whose they are.
        os.environ.setdefault("CHAOS_OWNER", str(os.getpid()))
        # The defect first: a trip is set on the code as it then is.
        if name := os.environ.get("CHAOS_VARIANT"):
            variants.apply(name)
        if trip := os.environ.get("CHAOS_TRIP"):
            trips.apply(trip)
