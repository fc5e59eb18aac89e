"""Runs the cells of the matrix, one after another, and prints what each came to.

python -m tests.matrix [--only python3.14,postgresql]
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from tests.matrix import outcome, roots
from tests.matrix.cells import Cell, chosen, packages_of
from tests.matrix.outcome import Outcome
from tests.servers.order import Unavailable
from tests.servers.private import ending
from tests.servers.private.process import ChildProcess

PATIENCE = 1800  # seconds for one cell
GRACE = 30  # for its tests and servers to end


def main(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description="Run the tests on other versions.")
    parser.add_argument("--only", default="", help="comma-separated beginnings of cells, e.g. python3.14,postgresql")
    parser.add_argument("--list", action="store_true", help="name the cells, and run none")
    options = parser.parse_args(arguments)
    try:
        cells = chosen(options.only)
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        print(*(cell.key for cell in cells), sep="\n")
        return 0
    try:
        roots.check_machine()
    except Unavailable as refusal:
        print(f"The matrix cannot run: {refusal.reason}. Remedy: {refusal.remedy or 'see above'}.", file=sys.stderr)
        return 2
    roots.FOLDER.mkdir(parents=True, exist_ok=True)
    with (roots.FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("The matrix runs already. Wait until it ends.", file=sys.stderr)
            return 2
        outcomes = [_ran(cell) for cell in cells]
    print("", *outcome.table(outcomes), sep="\n")
    return int(any(one.wrong for one in outcomes))


def _ran(cell: Cell) -> Outcome:
    print(f"--- {cell.key}", flush=True)
    begun = time.monotonic()
    try:
        root = roots.prepared(cell.suite, packages_of(cell.suite))
        python = root.python(cell.requirements)
    except (Unavailable, OSError, subprocess.TimeoutExpired) as error:
        one = Outcome(cell, time.monotonic() - begun, problem=f"not prepared: {error}")
    else:
        one = _tested(cell, root, python)
    print(outcome.table([one])[1], flush=True)
    return one


def _tested(cell: Cell, root: roots.Root, python: str) -> Outcome:
    words = [python, "-m", "tests.servers", "--private", "--modes", cell.modes, "--", "-p", "no:cacheprovider"]
    log = roots.FOLDER / f"{cell.key}.log"
    log.unlink(missing_ok=True)
    begun = time.monotonic()
    child = ChildProcess(
        root.command([*words, "-n", "2", *cell.files, *(f"--ignore={path}" for path in cell.ignored)]),
        log=log,
        env={**root.environment(os.environ), **cell.environment, "CI": "true"},  # a missing server fails the run
        cwd=roots.ROOT,
    )
    call_off = ending.on_exit(lambda: child.stop(grace=GRACE))
    problem = ""
    try:
        code = child.wait(PATIENCE)
    except TimeoutError:
        code, problem = 1, f"still running after {PATIENCE} s"
    finally:
        child.stop(grace=GRACE)  # which does nothing when it has ended by itself
        call_off()
    printed = log.read_text(errors="replace")
    if code:
        print("\n".join(printed.splitlines()[-40:]), f"All of it: {log}", sep="\n")
    versions, counts = outcome.read(printed)
    return Outcome(cell, time.monotonic() - begun, code, problem, versions, counts)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt as interrupt:
        sys.exit(128 + getattr(interrupt, "number", signal.SIGINT))
