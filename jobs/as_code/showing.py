"""A plan as people read it, in a terminal or in the log of a CI run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jobs.as_code.planning import Change, Create, Delete, Update


def shown(changes: Sequence[Change]) -> list[str]:
    lines: list[str] = []
    for change in changes:
        match change:
            case Create(wanted):
                lines.append(f"+ {wanted.name}: {wanted.task}, {_plain(wanted.schedule)}")
            case Delete(job):
                lines.append(f"- {job.name}")
            case Update(job, _, differences):
                lines.append(f"~ {job.name}")
                lines += [f"    {one.field}: {_plain(one.before)} → {_plain(one.after)}" for one in differences]
    counts = [sum(isinstance(change, kind) for change in changes) for kind in (Create, Update, Delete)]
    return [*lines, "{} to create, {} to change, {} to delete.".format(*counts)]


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
