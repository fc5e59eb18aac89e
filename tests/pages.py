"""Reads what a page of the documentation tells people to type, and what it shows as the answer.

It only reads: the tests in `tests/whole` type it, and tests/unit/test_docs.py lets each command read its arguments.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

FENCED = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.MULTILINE)
INLINE = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"(?:^|[\s/])manage\.py\s+(\w.*)")
ANSWERED = "→"  # begins a line that a command has written, a remedy for instance
AS_BEFORE = "…"  # in the place of arguments: those that were shown with the same command before


def section(page: str, title: str) -> str:
    """What stands under a heading of the second level."""
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(page: str) -> list[str]:
    """What is set apart, by a fence or by four spaces, in its order."""
    unfenced = FENCED.sub(lambda found: re.sub(r"(?m)^", "    ", found[1]), page)
    return [re.sub(r"(?m)^ {4}", "", found) for found in INDENTED.findall(unfenced)]


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
