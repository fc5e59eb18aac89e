"""Writes the first version of a task and its test, for whoever has never written one. Overwrites nothing."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from pathlib import Path

from execution.registry import Registry

IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,59}")
IMPORT = "from execution.registry import Run, task\n"
HEADER = f'"""What Punctual runs for this app: each function is a task."""\n\n{IMPORT}'
HANDLER = '''

@task("{name}", max_retries=3, time_limit=60)
def {name}(who: str, run: Run) -> dict:
    """Greet somebody. The parameters are the payload, what is returned is the result."""
    run.log(f"Greeting {{who}}")
    run.progress(1.0, "done")
    return {{"greeting": f"Hello, {{who}}!"}}
'''
# Django's own test case: those who only run Punctual do not have pytest.
TEST = '''"""Tests of the task {name}."""

from django.test import SimpleTestCase

import {app}.tasks  # noqa: F401
from execution.registry import InvalidPayload
from execution.rehearsal import rehearse


class {test_case}(SimpleTestCase):
    def test_returns_a_greeting_and_logs_it(self):
        rehearsal = rehearse("{name}", {{"who": "Ada"}})

        self.assertEqual(rehearsal.result, {{"greeting": "Hello, Ada!"}})
        self.assertEqual(rehearsal.lines, ["Greeting Ada"])

    def test_requires_a_name(self):
        with self.assertRaisesRegex(InvalidPayload, "who"):
            rehearse("{name}", {{}})
'''


class Refused(Exception):
    """Nothing was written, with the reason and the remedy."""


@dataclass(frozen=True)
class Written:
    tasks: Path
    test: Path
    made_app: bool


def write_task(name: str, app: str, *, folder: Path, registry: Registry) -> Written:
    """Write the task `name` into the app's `tasks.py`, below `folder`, with its test beside it."""
    for what, word in (("a task", name), ("an app", app)):
        if not IDENTIFIER.fullmatch(word) or keyword.iskeyword(word):
            raise Refused(f"{word!r} cannot name {what}. Use small letters, digits and _, such as send_report.")
    if name in registry.names():
        raise Refused(f"There is a task {name!r} already. Choose another name.")
    place = folder / app
    written = Written(place / "tasks.py", place / f"test_{name}.py", made_app=not (place / "__init__.py").exists())
    if written.test.exists():
        raise Refused(f"{written.test} is there already, and stays as it is. Choose another name, or move it.")
    handler = HANDLER.format(name=name)
    if not written.tasks.exists():
        place.mkdir(parents=True, exist_ok=True)
        (place / "__init__.py").touch()
        written.tasks.write_text(HEADER + handler)
    else:
        text = written.tasks.read_text()
        if IMPORT not in text or re.search(rf"^def {name}\b", text, re.MULTILINE):
            raise Refused(
                f"{written.tasks} is there already, and stays as it is: it has {name}, or lacks the line "
                f"`{IMPORT.strip()}`. Add that line, choose another name, or another --app."
            )
        written.tasks.write_text(text.rstrip("\n") + "\n" + handler)
    written.test.write_text(TEST.format(name=name, app=app, test_case=f"{name.title().replace('_', '')}Test"))
    return written
