"""Where results are kept: a full run together, each further measurement by itself, and what is neither apart."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.everything import FURTHER, USUAL
from benchmarks.report.headline import Results
from benchmarks.report.pictures import pictures
from benchmarks.report.plans_page import plans_page

RESULTS = Path(__file__).with_name("results")
LATEST = "latest.json"


def keep(results: Results, folder: Path = RESULTS) -> None:
    """What is not a full run, or has failed, must not pass for one: it is kept in a folder of its own."""
    quick = results["run"]["quick"]
    usual = {name: told for name, told in results.items() if name in USUAL}
    if usual:
        whole = usual.keys() == USUAL.keys() and not quick
        _write(LATEST, {"run": results["run"]} | usual, folder if whole else folder / "partial")
    for name in FURTHER.keys() & results.keys():
        sound = not quick and "error" not in results[name]
        _write(f"{name}.json", {"run": results["run"], name: results[name]}, folder if sound else folder / "partial")


def kept(name: str, folder: Path = RESULTS) -> Results | None:
    path = folder / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _write(name: str, results: Results, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: json.dumps(results, indent=2) + "\n"} | pictures(results)
    if "plans" in results.get("plans", {}):
        files["plans.md"] = plans_page(results)
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
