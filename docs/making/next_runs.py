"""The table of expressions with their words and next runs."""

from datetime import UTC, datetime

from scheduling.recurrence import Cron, OnGap, OnRepeat, PreviewedRun, describe, preview

AFTER = datetime(2024, 3, 29, 12, 0, tzinfo=UTC)  # the Friday before Paris lost an hour
COUNT = 3

EXAMPLES = [
    Cron("30 10 * * 5", "Asia/Jakarta"),
    Cron("*/15 9-17 * * 1-5", "America/New_York"),
    Cron("0 0 L * *", "UTC"),
    Cron("0 12 * * 5#2", "UTC"),
    Cron("0 0 13 * 5", "UTC"),
    Cron("0 0 */2 * 5", "UTC"),
    Cron("0 9-9 * * *", "UTC"),
    Cron("H H(1-5) * * *", "UTC", seed="your job"),
    Cron("30 2 * * *", "Europe/Paris"),
    Cron("30 2 * * *", "Europe/Paris", on_gap=OnGap.SKIP),
    Cron("*/30 2 * * *", "Europe/Paris"),
    Cron("45 1 7 4 *", "Australia/Lord_Howe", on_repeat=OnRepeat.RUN_TWICE),
    Cron("0 0 29 2 *", "UTC"),
]


def table() -> str:
    """Return the table in Markdown."""
    rows = ["| expression, zone | in words | next runs, local time |", "| --- | --- | --- |"]
    for cron in EXAMPLES:
        choices = "".join(f"<br>`{key}: {value}`" for key, value in cron.to_dict().items() if key.startswith("on_"))
        runs = preview(cron, after=AFTER, count=COUNT)
        lines = "<br>".join(_run_in_words(run) for run in runs)
        rows.append(f"| `{cron.expression}`<br>{cron.timezone}{choices} | {describe(cron)} | {lines} |")
    return "\n".join(rows)


def _run_in_words(run: PreviewedRun) -> str:
    return f"{run.local:%a %Y-%m-%d %H:%M} {run.local:%z}" + (f" *{run.note}*" if run.note else "")
