"""Whether the process in this container does what it is there for: `healthy.py web [PORT]`, `loop` or `ready`.

For healthchecks and probes, which ask every few seconds: it loads nothing but what it needs.
"""

import os
import sys
import time
import urllib.request

LONGEST_ROUND = 120  # seconds: more than any round takes, those included that wait for a database in vain


def web(port: str = "8000") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
        return "" if answer.status == 200 else f"/healthz answered {answer.status}."


def loop() -> str:
    age = _age(os.environ["PULSE_FILE"])
    return "" if age < LONGEST_ROUND else f"The loop has not turned for {age:.0f} seconds."


def ready() -> str:
    """Not alive only, but able: its servers are there, and the tables are as it needs them."""
    try:
        age = _age(f"{os.environ['PULSE_FILE']}.ready")
    except FileNotFoundError:
        return "No round has succeeded yet."
    return "" if age < LONGEST_ROUND else f"No round has succeeded for {age:.0f} seconds."


def _age(path: str) -> float:
    return time.time() - os.stat(path).st_mtime


def main(kind: str, *options: str) -> str:
    """What is wrong, if anything is."""
    try:
        return {"web": web, "loop": loop, "ready": ready}[kind](*options)
    except (OSError, KeyError) as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [""])) or 0)
