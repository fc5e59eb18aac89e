import time

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

MOST_SECONDS = 86_400
MOST_RATE = 20_000
LOOK_EVERY = 1.0  # seconds, while what is left is waited for


class Command(BaseCommand):
    help = "Puts a load on this installation, with a tenant and jobs of its own, and reports how it bore it."

    def add_arguments(self, parser):
        parser.add_argument("--rate", type=int, default=200, help="executions a second")
        parser.add_argument("--seconds", type=int, default=60, help="how long")
        parser.add_argument("--mix", default=None, help="shares of kinds: fast=90,slow=3,flaky=3,failing=1,recurring=3")
        parser.add_argument("--patience", type=int, default=60, help="seconds to wait for the last to end")
        parser.add_argument(
            "--clean", action="store_true", help="remove all it made afterwards; with --seconds 0, only that"
        )

    def handle(self, *, rate, seconds, mix, patience, clean, **options):
        if not settings.DEMO:
            raise CommandError("The demo's tasks are not registered. Set DEMO=true for this and for all executors.")
        from jobs.demo.simulation import MIX, InvalidMix, Simulation, clean_up, read_mix

        if not 0 <= seconds <= MOST_SECONDS or not 1 <= rate <= MOST_RATE:
            raise CommandError(f"Allowed are --rate 1 to {MOST_RATE} and --seconds 0 to {MOST_SECONDS}.")
        try:
            shares = read_mix(mix or MIX)
        except InvalidMix as error:
            raise CommandError(f"--mix {error}") from None
        if seconds:
            self._simulate(Simulation(rate, seconds, shares), patience)
        if clean:
            self.stdout.write(f"Removed {clean_up():,} execution(s) and all their jobs.")

    def _simulate(self, simulation, patience):
        from jobs.demo.display import display

        shown = display(self.stderr, simulation.seconds)
        try:
            for one in simulation.run(time.sleep):
                shown.show(one)
            self._await_the_rest(simulation, patience, shown)
        except KeyboardInterrupt:
            self.stderr.write("\nStopped early.")
        finally:
            simulation.stop()
        self._tell(simulation.report())

    def _await_the_rest(self, simulation, patience, shown):
        deadline = time.monotonic() + patience
        while simulation.unfinished() and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)
            shown.show(simulation.progress())

    def _tell(self, report):
        rate = f"{report.throughput:,.0f} executions a second"
        told = "history was pruned meanwhile, so this is of what is left of it" if report.pruned else rate
        self.stdout.write(f"\n{report.created:,} jobs created; {told}.")
        self.stdout.write(", ".join(f"{count:,} {status}" for status, count in sorted(report.by_status.items())))
        if report.lateness:
            late = report.lateness
            self.stdout.write(
                f"Started late by: p50 {late.p50:.3f} s, p95 {late.p95:.3f} s, p99 {late.p99:.3f} s, "
                f"at most {report.latest:.3f} s."
            )
