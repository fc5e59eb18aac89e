"""What docs/tasks.md shows is what the tasks take."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import scheduler_project
from execution.registry import registry
from jobs.new_jobs import NewJob

PAGE = Path(scheduler_project.__file__).parents[1] / "docs" / "tasks.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)]


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["task"] for example in EXAMPLES])
def test_every_example_is_a_job(example) -> None:
    job = NewJob(**example)

    assert registry.get(job.task).read(job.payload)


def test_every_task_and_every_field_is_told() -> None:
    for name in ("http_request", "image_thumbnail"):
        section = TEXT.split(f"\n## {name}\n")[1].split("\n## ")[0]
        fields = registry.get(name).payload.model_fields.keys() - {"upload"}
        assert [field for field in sorted(fields) if f"`{field}`" not in section] == []
