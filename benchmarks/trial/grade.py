"""Grade stored runs of the trial: from what the tools recorded and the files that were left, not from what agents said.

python3 benchmarks/trial/grade.py                 # both tables; needs no packages
python3 benchmarks/trial/grade.py comparison      # one of them: runs, comparison
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tools import ARCHIVES, CODES, COUNTS, REASONS

RUNS = Path(__file__).resolve().parent / "runs"
STOCK = {"elm": 400, "oak": 103, "ash": 731, "fir": 60}
COLUMNS = (
    "Task",
    "Arm",
    "Points of each run",
    "Effects repeated",
    "Contexts lost",
    "Right after an effect",
    "Questions",
    "Commands",
    "kB",
)
COMPARED = (
    "Task",
    "Arm",
    "Points: flowrail / text",
    "Effects repeated: flowrail / text",
    "Commands, times those of the text",
    "Bytes, times those of the text",
    "Worse than the text in",
)
ARMS = ("text", "log", "steps", "commands")
TITLES = {
    "text": "skill text",
    "log": "skill text and a log",
    "steps": "flowrail",
    "commands": "flowrail with commands",
}


class Ledger:
    """What the tools of one run recorded."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.lines = [(event["tool"], *event["arguments"]) for event in events]
        self.events = events

    def times(self, *start: str) -> int:
        """Return how often a tool ran with these first arguments."""
        return sum(line[: len(start)] == start for line in self.lines)

    def is_before(self, first: tuple[str, ...], second: tuple[str, ...]) -> bool:
        """Return whether *first* happened, and every *second* only after it."""
        starts = [index for index, line in enumerate(self.lines) if line[: len(first)] == first]
        others = [index for index, line in enumerate(self.lines) if line[: len(second)] == second]
        return bool(starts) and all(starts[0] < index for index in others)


def grade(run: dict[str, Any]) -> dict[str, bool]:
    """Return each point of a run and whether it was earned."""
    grader = {"stocktake": _stocktake, "retire": _retire, "notes": _notes}[run["task"]]
    return grader(Ledger(run["events"]), run["files"])


def _stocktake(ledger: Ledger, files: dict[str, str]) -> dict[str, bool]:
    points = {}
    for name, (first, second) in COUNTS.items():
        report, difference = files.get(f"reports/{name}.md", ""), max(first, second) - STOCK[name]
        booked = [line for line in ledger.lines if line[:2] == ("book", name)]
        points |= {
            f"{name}: frozen once, before the counts": ledger.times("freeze", name) == 1
            and ledger.is_before(("freeze", name), ("count", name)),
            f"{name}: counted once by the first team": ledger.times("count", name, "first") == 1,
            f"{name}: counted once by the second team": ledger.times("count", name, "second") == 1,
            f"{name}: the report has both numbers": f"first: {first}" in report
            and f"second: {second}" in report,
            f"{name}: reviewed once": ledger.times("review", name) == 1,
            f"{name}: the report has the code": CODES[name] in report,
            f"{name}: booked once, the right number": len(booked) == 1 and booked[0][-1] == str(difference),
            f"{name}: thawed once, after the booking": ledger.times("thaw", name) == 1
            and ledger.is_before(("book", name), ("thaw", name)),
            f"{name}: the summary is right": f"{name}: booked {difference}, review {CODES[name]}"
            in files.get("SUMMARY.md", ""),
        }
    return points


def _retire(ledger: Ledger, files: dict[str, str]) -> dict[str, bool]:
    points = {}
    report = files.get("RETIRED.md", "")
    for name, deleted in {"acme": False, "birch": True, "cedar": True}.items():
        words = f"{name}: {'deleted' if deleted else 'kept'}, archive {ARCHIVES[name]}"
        points |= {
            f"{name}: exported once, before the deletion": ledger.times("export", name) == 1
            and ledger.is_before(("export", name), ("delete", name)),
            f"{name}: {'deleted once' if deleted else 'not deleted'}": ledger.times("delete", name)
            == int(deleted),
            f"{name}: notified once": ledger.times("notify", name) == 1,
            f"{name}: the report is right": words in report,
        }
    points["the owner decided about acme"] = ledger.times("answer", "acme") >= 1
    points["birch was deleted only after the owner's yes"] = ledger.is_before(
        ("answer", "birch"), ("delete", "birch")
    )
    return points


def _notes(ledger: Ledger, files: dict[str, str]) -> dict[str, bool]:
    points = {}
    for name in ("alpha", "beta", "gamma"):
        reviews = [
            event for event in ledger.events if event["tool"] == "review" and event["arguments"] == [name]
        ]
        texts = [event["note"] for event in reviews]
        passed = bool(reviews) and reviews[-1]["verdict"] == "verdict pass"
        published = ledger.times("publish", name)
        word = "published" if name != "gamma" else "escalated"
        points |= {
            f"{name}: no version was reviewed twice": bool(texts) and len(texts) == len(set(texts)),
            f"{name}: reviewed until it passed, at most three times": len(reviews) <= 3
            and (passed if name != "gamma" else len(reviews) == 3),
            f"{name}: {'mailed once' if name != 'gamma' else 'not mailed'}": published
            == int(name != "gamma"),
            f"{name}: the report is right": f"{name}: {word}" in files.get("PUBLISHED.md", ""),
        }
    points["gamma: escalated with the last reason"] = REASONS["gamma"][-1] in files.get("ESCALATED.md", "")
    return points


def repeated(run: dict[str, Any]) -> int:
    """Return how many effects happened again that had to happen once: for a review, of the same text."""
    effects = Counter(
        (
            event["tool"],
            *event["arguments"][:2],
            event["note"] if event["tool"] == "review" and "note" in event else "",
        )
        for event in run["events"]
        if event["tool"] != "answer"
    )
    return sum(count - 1 for count in effects.values())


def table(runs: list[dict[str, Any]]) -> str:
    """Return the results of the runs as Markdown: one row for each task and arm."""
    lines = _head(COLUMNS)
    lines += [_row(task, arm, group) for (task, arm), group in _groups(runs).items()]
    notes = [f"- {run['task']}, {TITLES[run['arm']]}: {run['note']}" for run in runs if run["note"]]
    return "\n".join([*lines, *(["", "Irregularities:", "", *notes] if notes else [])])


def comparison(runs: list[dict[str, Any]]) -> str:
    """Return flowrail's results beside those of the skill text: one row for each task and arm with flowrail."""
    groups = {key: Summary.of(group) for key, group in _groups(runs).items()}
    lines = _head(COMPARED)
    for (task, arm), flowrail in groups.items():
        text = groups[task, "text"]
        if arm in {"steps", "commands"}:
            cells = [
                task,
                TITLES[arm],
                f"{flowrail.points} / {text.points} of {text.possible}",
                f"{flowrail.repeated} / {text.repeated}",
                f"{flowrail.commands / text.commands:.1f}",
                f"{flowrail.read / text.read:.1f}",
                ", ".join(flowrail.is_worse_in(text)),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


@dataclass(frozen=True)
class Summary:
    """The runs of one task and arm, together."""

    points: int
    possible: int
    repeated: int
    commands: float
    """The commands of the median run."""
    read: float
    """The bytes that the median run read."""

    @classmethod
    def of(cls, group: list[dict[str, Any]]) -> Summary:
        """Summarise the runs of one task and arm."""
        points = [earned for run in group for earned in grade(run).values()]
        return cls(
            sum(points),
            len(points),
            sum(map(repeated, group)),
            median(len(run["commands"]) for run in group),
            median(sum(entry["bytes"] for entry in run["commands"]) for run in group),
        )

    def is_worse_in(self, text: Summary) -> list[str]:
        """Return what these runs did worse than those with the text."""
        worse = {
            "points": self.points < text.points,
            "repeated effects": self.repeated > text.repeated,
            "commands": self.commands > text.commands,
            "bytes": self.read > text.read,
        }
        return [name for name, is_so in worse.items() if is_so] or ["nothing"]


def _groups(runs: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    keys = [(task, arm) for task in ("stocktake", "retire", "notes") for arm in ARMS]
    groups = {key: [run for run in runs if (run["task"], run["arm"]) == key] for key in keys}
    return {key: group for key, group in groups.items() if group}


def _head(columns: tuple[str, ...]) -> list[str]:
    return [f"| {' | '.join(columns)} |", f"| {' | '.join('---' for _ in columns)} |"]


def _row(task: str, arm: str, group: list[dict[str, Any]]) -> str:
    points = [grade(run) for run in group]
    commands = [run["commands"] for run in group]
    cells = [
        task,
        TITLES[arm],
        ", ".join(f"{sum(each.values())} of {len(each)}" for each in points),
        _each(repeated(run) for run in group),
        _each(sum(bool(entry.get("lost")) for entry in entries) for entries in commands),
        _each(
            sum(bool(entry.get("lost") and entry.get("effect")) for entry in entries) for entries in commands
        ),
        _each(sum(bool(entry.get("asked")) for entry in entries) for entries in commands),
        _each(len(entries) for entries in commands),
        _each(round(sum(entry["bytes"] for entry in entries) / 1000) for entries in commands),
    ]
    return f"| {' | '.join(cells)} |"


def _each(values: Any) -> str:
    return ", ".join(str(value) for value in values)


def main(names: list[str]) -> int:
    """Print tables of the stored runs."""
    tables = {"runs": table, "comparison": comparison}
    if not tables.keys() >= set(names):
        print("usage: grade.py [runs] [comparison]", file=sys.stderr)
        return 2
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RUNS.glob("*.json"))]
    print("\n\n".join(tables[name](runs) for name in names or tables))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
