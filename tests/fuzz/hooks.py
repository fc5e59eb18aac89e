"""Leads schemathesis to what is there: of ids that it made up, most are replaced by ids of the world.

What it meant to be wrong stays wrong.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any
from uuid import UUID

import schemathesis
from schemathesis.generation.meta import TestPhase

WORLD = json.loads(Path(os.environ["FUZZ_WORLD"]).read_text())
LED = 0.7  # of the cases
chance = random.Random(0)


@schemathesis.auth()
class Token:
    """Given here, not on the command line: schemathesis has to know that it can be left out, and is missed."""

    def get(self, case: Any, context: Any) -> dict[str, Any]:
        return WORLD

    def set(self, case: Any, data: dict[str, Any], context: Any) -> None:
        ours = data["headers_to_lose" if "/logout" in case.path else "headers"]
        case.headers = {**(case.headers or {}), **ours}


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    if case.meta is not None and case.meta.phase.name is TestPhase.STATEFUL:
        return  # what an answer named is asked for, and has to be there
    parts = case.path.split("/")
    for name, value in (case.path_parameters or {}).items():
        known = WORLD["ids"].get(parts[parts.index(f"{{{name}}}") - 1])
        if known and _is_id(value) and chance.random() < LED:
            case.path_parameters[name] = chance.choice(known)
    if case.headers and _is_id(case.headers.get("X-Tenant-ID")) and chance.random() < LED:
        case.headers["X-Tenant-ID"] = WORLD["tenant"]


def _is_id(value: Any) -> bool:
    try:
        return bool(UUID(str(value)))
    except ValueError:
        return False
