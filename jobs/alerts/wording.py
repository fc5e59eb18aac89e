"""A notice in words: what its mail says.

A notice is JSON, the same that webhooks are sent; it is described in docs/alerts.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from jobs.alerts.kinds import Kind
from jobs.shown import length

RECOVERED = "recovered"
# One, and several.
HEADLINES = {
    Kind.MISSED: ("Missed", "{count:,} due times missed"),
    Kind.LATE: ("Late", "{count:,} jobs late"),
    Kind.FAILED: ("Failed", "{count:,} jobs failed"),
    RECOVERED: ("Recovered", "{count:,} recovered"),
}


def subject_of(notice: Mapping[str, Any]) -> str:
    """One line, also where a job's name has more."""
    if notice.get("test"):
        return f"[Punctual] Test of the alert {_one_line(notice['rule']['name'])}"
    lines = notice["incidents"]
    if len(lines) == 1 and not notice["more"]:
        return f"[Punctual] {_headline(lines[0])}"
    system = [line["title"] for line in lines if line["kind"] not in HEADLINES and line["state"] != RECOVERED]
    counted = [
        several.format(count=count) if count > 1 else f"1 {one.lower()}"
        for what, (one, several) in HEADLINES.items()
        if (count := notice["counts"].get(what, 0))
    ]
    return f"[Punctual] {_one_line(' '.join([*system, ', '.join(counted)]))}"


def text_of(notice: Mapping[str, Any]) -> str:
    if notice.get("test"):
        return f"This is a test of the alert {notice['rule']['name']!r}. Whoever reads it will be told.\n"
    told = "\n\n".join(_told(line) for line in notice["incidents"])
    more = f"\n\n… and {notice['more']:,} more." if notice["more"] else ""
    tenant = f" of {notice['tenant']['name']}" if notice["tenant"] else ""
    return f"{told}{more}\n\n-- \nTold by the alert {notice['rule']['name']!r}{tenant}.\n"


def _headline(line: Mapping[str, Any]) -> str:
    if line["state"] == RECOVERED:
        return _one_line(f"Recovered: {line['title']}")
    if line["kind"] not in HEADLINES:
        return _one_line(line["title"])
    due = f", due {_moment(line['since'])}" if line["kind"] == Kind.MISSED else ""
    return _one_line(f"{HEADLINES[line['kind']][0]}: {line['title']}{due}")


def _told(line: Mapping[str, Any]) -> str:
    """A paragraph: what, of which job, since when and why."""
    since = _moment(line["since"])
    match line["kind"]:
        case Kind.MISSED:
            told = f"{line['title']} was due at {since}, and has no execution."
        case Kind.LATE:
            several = f" {line['count']:,} of its executions wait." if line["count"] > 1 else ""
            told = f"{line['title']} should have started at {since}, and waits.{several}"
        case Kind.FAILED:
            often = f"{line['count']:,} times, last" if line["count"] > 1 else "once,"
            told = f"{line['title']} has failed for good {often} at {_moment(line['last_at'])}: {line['error']}"
        case _:
            told = f"{line['title']} Since {since}."
    parts = [told]
    if line["cause"]:
        parts.append(f"Because {line['cause']}.")
    if line["recovered_at"]:
        lasted = length(timedelta(seconds=line["lasted"]))
        became = f"; {line['outcome']}" if line["outcome"] else ""
        parts.append(f"It is over since {_moment(line['recovered_at'])}, after {lasted}{became.rstrip('.')}.")
    if line["job"]:
        parts.append(f"Job {line['job']}" + (f" of {line['tenant']}." if line["tenant"] else "."))
    return "\n".join(parts)


def _moment(text: str) -> str:
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S} UTC"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
