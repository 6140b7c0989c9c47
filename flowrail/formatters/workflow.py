"""A workflow as a table of steps and ways on, for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowrail.formatters.data import example_text
from flowrail.formatters.escape import one_line
from flowrail.formatters.text import table


def render(item: Mapping[str, Any]) -> str:
    """Return what `shelf.show` gives as text."""
    about = one_line(item["description"])
    parts = [f"{one_line(item['name'])} · {item['total_steps']} steps · {item['source']}\n{about}"]
    if item["params"]:
        rows = [[param["name"], param["type"], _about(param)] for param in item["params"]]
        parts.append("Parameters\n" + table(["name", "type", "about"], rows))
    rows = [
        [str(step["number"]), step["id"], step["title"], step["phase"] or "", _ways(step)]
        for step in item["steps"]
    ]
    parts.append("Steps\n" + table(["#", "step", "title", "phase", "ways on"], rows))
    if item["workflows"]:
        parts.append(
            "Workflows of its agents\n" + "\n".join(f"  {one_line(name)}" for name in item["workflows"])
        )
    if item["findings"]:
        lines = [
            f"  {one_line(each['place'])}: {each['severity']} {each['code']}: {one_line(each['message'])}"
            for each in item["findings"]
        ]
        parts.append("Found\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _about(value: Mapping[str, Any]) -> str:
    words = []
    if value.get("required"):
        words.append("required")
    if value.get("choices"):
        words.append("one of " + ", ".join(str(choice) for choice in value["choices"]))
    if value.get("default") not in (None, ""):
        words.append(f"default {example_text(value['default'])}")
    if value.get("example") is not None:
        words.append(f"such as {example_text(value['example'])}")
    return "; ".join(words)


def _ways(step: Mapping[str, Any]) -> str:
    ways = ", ".join(f"{outcome} → {target or 'end'}" for outcome, target in step["next"].items())
    notes = []
    if step["decides"]:
        notes.append("decided by its rules" if step["rules"] else "decided by its handler")
    if step["limit"]:
        notes.append(f"{step['limit']} visits at most")
    if step["when"]:
        notes.append(f"only when {step['when']}")
    if step["reports"]:
        notes.append("reports " + ", ".join(value["name"] for value in step["reports"]))
    return ways + (f" ({'; '.join(notes)})" if notes else "")
