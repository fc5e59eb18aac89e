"""What a run over the modes came to: the lines at its end, and its exit code.

A skipped mode must not look like a passed one. The missing servers are therefore told last, where
the eye rests, and on a build machine (CI=true) they fail the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.servers.kinds import Kind
from tests.servers.modes import Mode
from tests.servers.order import Missing

NO_TESTS = 5  # pytest's exit code when it found nothing to run


@dataclass(frozen=True)
class Outcome:
    """How one mode ended: pytest's exit code, None when a server was missing and it did not run."""

    mode: Mode
    exit_code: int | None
    seconds: float = 0

    @property
    def failed(self) -> bool:
        return self.exit_code not in (0, None)

    def __str__(self) -> str:
        match self.exit_code:
            case None:
                result = "SKIPPED, a server is missing"
            case 0:
                result = f"passed in {self.seconds:.0f} s"
            case 5:
                result = f"FAILED in {self.seconds:.0f} s: pytest found no tests to run"
            case code:
                result = f"FAILED in {self.seconds:.0f} s (pytest exit code {code})"
        return f"{self.mode.key:<9} {result}"


def lines(outcomes: Sequence[Outcome], missing: Mapping[Kind, Missing]) -> list[str]:
    """Return the summary, a line for each mode, then a loud one for each missing server."""
    return [str(outcome) for outcome in outcomes] + [
        _loud(kind, absence, [outcome.mode for outcome in outcomes]) for kind, absence in missing.items()
    ]


def exit_code(outcomes: Sequence[Outcome], missing: Mapping[Kind, Missing], environ: Mapping[str, str]) -> int:
    """Return 1 when a mode failed or, on a build machine, when one could not run."""
    if any(outcome.failed for outcome in outcomes):
        return 1
    return int(bool(missing) and is_build_machine(environ))


def is_build_machine(environ: Mapping[str, str]) -> bool:
    return environ.get("CI", "").lower() in ("true", "1", "yes")


def _loud(kind: Kind, absence: Missing, modes: Sequence[Mode]) -> str:
    skipped = " and ".join(f"'{mode.key}'" for mode in modes if kind in mode.needs)
    return (
        f"!!! {kind.title.upper()} IS MISSING, so all tests of mode {skipped} were SKIPPED. "
        f"Why: {absence.reason}. To get it: {absence.remedy}."
    )
