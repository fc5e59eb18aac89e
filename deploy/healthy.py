"""Whether the process in this container does what it is there for: `healthy.py web` or `healthy.py loop`.

For healthchecks and probes, which ask every few seconds: it loads nothing but what it needs.
"""

import os
import sys
import time
import urllib.request

LONGEST_ROUND = 120  # seconds: more than any round takes, those included that wait for a database in vain


def web() -> str:
    port = os.environ.get("GRANIAN_PORT", "8000")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
        return "" if answer.status == 200 else f"/healthz answered {answer.status}."


def loop() -> str:
    path = os.environ["PULSE_FILE"]
    age = time.time() - os.stat(path).st_mtime
    return "" if age < LONGEST_ROUND else f"The loop has not turned for {age:.0f} seconds."


def main(kind: str) -> str:
    """What is wrong, if anything is."""
    try:
        return {"web": web, "loop": loop}[kind]()
    except (OSError, KeyError) as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "") or 0)
