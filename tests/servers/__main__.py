"""Runs the tests once for each mode, on whatever servers can be had.

    python -m tests.servers [--modes embedded,database,full] [--part quick|long|all] [-- pytest arguments]

It parses, wires and prints. The modes run one after the other, in child processes, because a mode
is chosen by the environment before Django starts.
"""

import argparse
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from tests.servers import modes, provide, report
from tests.servers.kinds import Kind
from tests.servers.modes import Mode, Part
from tests.servers.private import ending
from tests.servers.private.process import ChildProcess

Named = TypeVar("Named", Mode, Kind, Part)

ROOT = Path(__file__).resolve().parents[2]
GRACE = 15  # seconds for pytest to tear down its fixtures when the run is interrupted


def main(arguments: Sequence[str]) -> int:
    # A shell has what it starts in the background ignore this, and all below us would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    own, pytest_arguments = _split(arguments)
    options = _parser().parse_args(own)
    needed = {kind for mode in options.modes for kind in mode.needs}
    outcomes: list[report.Outcome] = []
    with provide(needed, private=options.private, absent=options.absent) as servers:
        _say(f"Versions: Python {platform.python_version()}, Django {version('django')}", *servers.described)
        for mode in options.modes:
            if any(kind in servers.missing for kind in mode.needs):
                outcomes.append(report.Outcome(mode, None))
                continue
            _say(f"--- mode {mode.key}")
            command = modes.command(pytest_arguments, first=mode is options.modes[0], part=options.part)
            begun = time.monotonic()
            code = _run(command, modes.environment(mode, servers.environment, os.environ))
            outcomes.append(report.Outcome(mode, code, time.monotonic() - begun))
        _say("", *report.lines(outcomes, servers.missing))
        return report.exit_code(outcomes, servers.missing, os.environ)


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    # SIGINT is the signal pytest tears down on, whoever sends it.
    child = ChildProcess(command, env=environment, cwd=ROOT, when_orphaned=signal.SIGINT)
    call_off = ending.on_exit(lambda: child.stop(signal.SIGINT, grace=GRACE))
    try:
        return child.wait()
    finally:
        child.stop(signal.SIGINT, grace=GRACE)  # which does nothing when it has ended by itself
        call_off()


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part our own arguments from pytest's, which follow `--`."""
    arguments = list(arguments)
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers",
        description="Run the tests in each mode, on whatever servers can be had.",
        epilog="What follows -- is passed to pytest.",
    )
    parser.add_argument(
        "--modes",
        type=_several(Mode.named),
        default=list(Mode),
        help="which modes, in which order (default: embedded,database,full)",
    )
    parser.add_argument(
        "--part",
        type=_one(Part.named),
        default=Part.ALL,
        help="quick: what `make test` runs; long: what `make test-long` does; all: both (the default)",
    )
    parser.add_argument(
        "--private",
        action="store_true",
        help="use no server that is there already, start private ones",
    )
    parser.add_argument(
        "--absent",
        type=_several(Kind.named),
        default=[],
        help="act as if these servers could not be had, e.g. redis,rabbitmq",
    )
    return parser


def _one(named: Callable[[str], Named]) -> Callable[[str], Named]:
    """Return the reader of a word that `named` understands."""

    def read(text: str) -> Named:
        try:
            return named(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


def _several(named: Callable[[str], Named]) -> Callable[[str], list[Named]]:
    """Return the reader of a comma-separated list of such words."""
    return lambda text: [_one(named)(word) for word in text.split(",")]


def _say(*lines: str) -> None:
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt as interrupt:
        sys.exit(128 + getattr(interrupt, "number", signal.SIGINT))
