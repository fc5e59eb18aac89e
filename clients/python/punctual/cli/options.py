"""The words of the command line."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime
from typing import Any

from punctual.schedules import Schedule, at, cron, every

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MOST = 1_000_000_000  # lines, looks, or units of time: more is a typing error


def parser(environment: str) -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="punctual", epilog=environment, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--url", help="of the server")
    top.add_argument("--tenant", help="to speak for")
    top.add_argument("--json", action="store_true", help="print what the server says, a line each, and nothing else")
    things = top.add_subparsers(dest="thing", required=True, metavar="jobs | executions | …")
    _jobs(things.add_parser("jobs", help="what to run, and when").add_subparsers(dest="act", required=True))
    _executions(things.add_parser("executions", help="each run").add_subparsers(dest="act", required=True))
    _dead(things.add_parser("dead-letters", help="what failed for good").add_subparsers(dest="act", required=True))
    _alerts(things.add_parser("alerts", help="who is told of what").add_subparsers(dest="act", required=True))
    _incidents(things.add_parser("incidents", help="what is wrong").add_subparsers(dest="act", required=True))
    _tasks(things.add_parser("tasks", help="kinds of work that jobs can run").add_subparsers(dest="act", required=True))
    tail = things.add_parser("tail", help="watch executions come and go, in a live table")
    tail.add_argument("--job", help="of this job only")
    tail.add_argument("--rounds", type=_count, help="stop after this number of refreshes, one per second")
    tail.set_defaults(act=None)
    return top


def _jobs(acts: Any) -> None:
    create = acts.add_parser("create", help="store a job")
    create.add_argument("task")
    create.add_argument(
        "payload", nargs="?", default="{}", type=_object, help="a JSON object, or - to read it from standard input"
    )
    create.add_argument("--name", default="")
    create.add_argument("--priority", choices=["high", "normal", "low"])
    create.add_argument("--tag", action="append", dest="tags")
    create.add_argument("--idempotency-key")
    create.add_argument("--wait", action="store_true", help="for its run; without a schedule that is at once")
    when = create.add_mutually_exclusive_group()
    when.add_argument("--at", type=_instant, dest="schedule", help="once, such as 2026-11-20T03:30:00Z")
    when.add_argument("--every", type=_interval, dest="schedule", help="such as 90s, 10m, 6h, 1d")
    when.add_argument("--cron", help="such as '30 10 * * 5'")
    create.add_argument("--timezone", help="of --cron (default: UTC)")
    listed = _listed(acts, "status", "task")
    _tagged(listed)
    listed.add_argument("--name", "--search", help="words in the name, or their first letters")
    for act, told in {
        "show": "all there is to know",
        "pause": "make no more executions until resumed",
        "resume": "go on",
        "cancel": "end it for good",
        "delete": "make it disappear; its history stays",
        "preview": "when it runs next",
    }.items():
        acts.add_parser(act, help=told).add_argument("job")
    run = acts.add_parser("run", help="now, whatever its schedule says")
    run.add_argument("job")
    run.add_argument("--wait", action="store_true", help="until it is over; exit status 1 unless it completed")


def _executions(acts: Any) -> None:
    _tagged(_listed(acts, "status", "task", "job"))
    for act, told in {
        "show": "one with its timeline",
        "cancel": "end it",
        "retry": "run it again",
        "logs": "what it said",
    }.items():
        acts.add_parser(act, help=told).add_argument("execution")


def _dead(acts: Any) -> None:
    acts.add_parser("list", help="by cause")
    for act, told in {"replay": "run them again", "discard": "take them off the list for good"}.items():
        which = acts.add_parser(act, help=told)
        which.add_argument("executions", nargs="*", metavar="EXECUTION", help="ids")
        which.add_argument("--fingerprint", help="all of this cause")


def _alerts(acts: Any) -> None:
    create = acts.add_parser("create", help="have somebody told of what is missed, late, failed or recovered")
    create.add_argument("name")
    create.add_argument("--email", action="append", dest="emails", metavar="ADDRESS", help="may be given several times")
    create.add_argument("--webhook", metavar="URL", help="in place of addresses")
    create.add_argument("--job", help="of this job only")
    create.add_argument("--tag", help="of jobs with this tag only")
    create.add_argument("--kind", action="append", dest="kinds", help="such as missed; without any, all of them")
    acts.add_parser("list", help="newest first")
    for act, told in {
        "show": "one, with what became of its latest notice",
        "test": "have a test notice sent",
        "delete": "tell nobody by it any more",
    }.items():
        acts.add_parser(act, help=told).add_argument("alert")


def _incidents(acts: Any) -> None:
    listed = _listed(acts, "kind", "job")
    listed.add_argument("--open", action="store_true", help="those that are not over")


def _tasks(acts: Any) -> None:
    acts.add_parser("list", help="names and descriptions")


def _listed(acts: Any, *filters: str) -> argparse.ArgumentParser:
    listed: argparse.ArgumentParser = acts.add_parser("list", help="newest first")
    for name in filters:
        listed.add_argument(f"--{name}")
    listed.add_argument("--most", type=_count, default=20, help="lines (default: 20)")
    return listed


def _tagged(listed: argparse.ArgumentParser) -> None:
    listed.add_argument("--tag", action="append", help="may be given several times: jobs with all of these tags")


def schedule_of(options: argparse.Namespace) -> Schedule | None:
    if options.cron is not None:
        return cron(options.cron, options.timezone or "UTC")
    if options.timezone is not None:
        raise ValueError("--timezone is for --cron. Leave it out, or give --cron.")
    schedule: Schedule | None = options.schedule
    return schedule


def _object(text: str) -> dict[str, Any]:
    try:
        told = json.loads(sys.stdin.read() if text == "-" else text, parse_constant=_no_number)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}. Quote it for the shell: '{{\"to\": …}}'") from None
    except RecursionError:
        raise argparse.ArgumentTypeError("too deeply nested.") from None
    if not isinstance(told, dict):
        raise argparse.ArgumentTypeError("not a JSON object. Write it as '{\"to\": …}'")
    return told


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:10]) <= MOST):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {MOST}")
    return int(text)


def _instant(text: str) -> Schedule:
    try:
        return at(datetime.fromisoformat(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _interval(text: str) -> Schedule:
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and len(number) <= len(str(MOST)) and unit in UNITS):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number with one of {', '.join(UNITS)} behind it")
    return every(int(number) * UNITS[unit])
