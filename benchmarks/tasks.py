"""The task that benchmarks run: nothing, so that everything around it is what is measured."""

from __future__ import annotations

from pydantic import BaseModel

from execution.registry import Run, task


class Nothing(BaseModel):
    pass


@task("nothing", payload=Nothing)
def nothing(payload: Nothing, run: Run) -> None:
    pass
