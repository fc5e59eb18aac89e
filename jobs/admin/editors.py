"""The two fields of the job form that are more than a line of text: what a task is given, and when it runs.

What is sent is the JSON of a textarea, and that is all the server reads. The script beside it draws a form from the
task's own description of its payload, and one for each type of schedule; whoever prefers JSON is one click away from
it, and without scripts it is all there is.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from zoneinfo import available_timezones

from django.forms import Textarea
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from execution.registry import registry


@cache
def _schema(task: str) -> dict[str, Any]:
    return registry.get(task).payload_schema


def payload_schemas() -> dict[str, dict[str, Any]]:
    """What each task says of its payload, as JSON Schema."""
    return {name: {"description": registry.get(name).description} | _schema(name) for name in registry.names()}


@cache
def zone_names() -> list[str]:
    return sorted(name for name in available_timezones() if "/" in name or name == "UTC")


class Editor(Textarea):
    """A textarea of JSON, in the place that the script fills."""

    drawn_by = ""  # a template

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__({"rows": 8, "class": "p-input p-mono", "spellcheck": "false", **(attrs or {})})
        self.faults: dict[str, str] = {}  # by part, for the script to tell beside it

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        plain = super().render(name, value, attrs, renderer)
        return render_to_string(self.drawn_by, {"plain": plain, "name": name, "faults": self.faults, **self.extras()})

    def extras(self) -> dict[str, Any]:
        return {}


class PayloadEditor(Editor):
    drawn_by = "admin/punctual/payload_editor.html"

    def extras(self) -> dict[str, Any]:
        return {"schemas": payload_schemas()}


class ScheduleEditor(Editor):
    drawn_by = "admin/punctual/schedule_editor.html"

    def extras(self) -> dict[str, Any]:
        return {"zones": zone_names()}
