"""`punctual tail`: the latest executions in a table that changes in place, once a second."""

from __future__ import annotations

import sys
import time
from itertools import islice
from typing import Any

from punctual.cli.commands import EXECUTION_COLUMNS
from punctual.cli.showing import cell, show_table
from punctual.client import Punctual
from punctual.models import Execution

LOOK = 1.0  # seconds
GET_RICH = "For one: pip install 'punctual-client[cli]'"
ROWS = 20
COLOURS = {"COMPLETED": "green", "FAILED": "red", "RETRYING": "yellow", "RUNNING": "cyan", "CANCELLED": "magenta"}


def tail(punctual: Punctual, *, job: str | None, rounds: int | None, as_json: bool) -> int:
    live = None if as_json else _live()
    seen: dict[str, str] = {}
    number = 0
    try:
        while rounds is None or number < rounds:
            if number:
                time.sleep(LOOK)
            number += 1
            latest = list(islice(punctual.executions.list(job=job, page_size=ROWS), ROWS))
            if live is not None:
                live.update(_table(latest))
            else:
                _print_news(latest, seen, as_json)
    finally:
        if live is not None:
            live.stop()
    return 0


def _live() -> Any:
    """A live table where there is a terminal and rich; otherwise new executions are printed, a line each."""
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError:
        print("punctual: rich is not installed, so there is no live table. " + GET_RICH, file=sys.stderr)
        return None
    if not Console().is_terminal:
        return None
    live = Live(auto_refresh=False, screen=False)
    live.start()
    return live


def _table(executions: list[Execution]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(*[name.replace("_", " ") for name in EXECUTION_COLUMNS], expand=True)
    for one in executions:
        # As Text: rich would read square brackets in somebody's error as markup.
        cells = {name: Text(cell(one.raw.get(name))) for name in EXECUTION_COLUMNS}
        cells["status"].stylize(COLOURS.get(one.status, "default"))
        table.add_row(*cells.values())
    return table


def _print_news(executions: list[Execution], seen: dict[str, str], as_json: bool) -> None:
    news = [one for one in reversed(executions) if seen.get(one.id) != one.status]
    seen.update((one.id, one.status) for one in news)
    if news:
        show_table(EXECUTION_COLUMNS, [one.raw for one in news], as_json)
