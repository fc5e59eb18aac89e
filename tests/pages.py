"""Reads what a page of the documentation tells people to type, and what it shows as the answer.

It only reads: the tests in `tests/whole` type it, and tests/unit/test_docs.py lets each command read its arguments.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

FENCED = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(rf"{FENCED.pattern}|((?:^ {{4}}[^\n]*\n(?:\n+(?= {{4}}))?)+)", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^```sh\n(.*?)^```\n(?:^```json\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"(?:^|[\s/])manage\.py\s+(\w.*)")
ANSWERED = "→"  # begins a line that a command has written, a remedy for instance
AS_BEFORE = "…"  # in the place of arguments: those that were shown with the same command before
AND_MORE = '"…": null'  # stands for the members of an object that are left out
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")


def section(page: str, title: str) -> str:
    """What stands under a heading of the second level."""
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(page: str) -> list[str]:
    """What is set apart, by a fence or by four spaces, in its order."""
    return [fenced or re.sub(r"(?m)^ {4}", "", indented) for fenced, indented in BLOCK.findall(page)]


def block_with(page: str, words: str) -> str:
    """The only block that has these words."""
    [block] = [block for block in blocks(page) if words in block]
    return block


def steps(page: str) -> list[tuple[str, str]]:
    """What is asked, and the answer that is shown, or nothing."""
    return STEP.findall(page)


def dialogue(block: str) -> tuple[str, str]:
    """What is typed after the prompt, and what comes."""
    lines = block.splitlines(keepends=True)
    asked = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return "".join(asked), "".join(line for line in lines if not line.startswith("$ "))


def plain(text: str) -> str:
    """The same without what is different each time."""
    return TIME.sub("<time>", ID.sub("<id>", text))


def typed_commands(page: str) -> Iterator[list[str]]:
    """Each `manage.py` command with its arguments, as a shell would give them to it.

    Within a sentence a bare name is only a name: what has arguments is there to be typed.
    """
    before: dict[str, list[str]] = {}
    for line in [*_lines(page), *_spans(page)]:
        name, *arguments = shlex.split(line.removesuffix("&"), comments=True)
        if arguments[:1] == [AS_BEFORE]:
            arguments = before[name] + arguments[1:]
        before[name] = arguments
        yield [name, *arguments]


def _lines(page: str) -> Iterator[str]:
    for block in blocks(page):
        for line in block.replace("\\\n", " ").splitlines():
            if (found := COMMAND.search(line)) and not line.strip().startswith(ANSWERED):
                yield found[1]


def _spans(page: str) -> Iterator[str]:
    for code in INLINE.findall(FENCED.sub("", page)):
        if (found := COMMAND.search(" ".join(code.split()))) and " " in found[1]:
            yield found[1]


def compare(shown: Any, came: Any, step: str) -> None:
    """The same members in the same places, and the same words where no id or time is in them."""
    match shown:
        case dict():
            assert isinstance(came, dict), f"{came} instead of {shown}:\n{step}"
            left_out = came.keys() - shown.keys()
            assert shown.keys() - came.keys() <= {"…"} and (not left_out or "…" in shown), f"{came.keys()}:\n{step}"
            for name in shown.keys() - {"…"}:
                compare(shown[name], came[name], step)
        case list():
            assert isinstance(came, list) and len(came) == len(shown), f"{came} instead of {shown}:\n{step}"
            for one, other in zip(shown, came, strict=True):
                compare(one, other, step)
        case str() if not re.search(r"[0-9a-f]{16}|\d{4}-\d\d-\d\d|[0-9a-f]{8}-", shown):
            assert came == shown, step
        case _:
            assert type(came) is type(shown), f"{came} instead of {shown}:\n{step}"


def read_answer(shown: str) -> Any:
    """JSON in which `…` before the end of an object leaves out the rest of it."""
    return json.loads(shown.replace("…}", f"{AND_MORE}}}"))
