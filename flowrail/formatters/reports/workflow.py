"""A workflow as tables, for `flow show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flowrail.formatters.guidance.content import example_text
from flowrail.text.phrases import count
from flowrail.text.report import Report, Table, columns, paragraphs, title
from flowrail.text.safe_text import LONGEST_LINE, one_line, shortened


def report(item: Mapping[str, Any]) -> Report:
    """Return a workflow as `skills.summary.show` describes it."""
    about = shortened(one_line(item["description"]), LONGEST_LINE)
    steps = count(item["total_steps"], "step")
    head = title(f"{one_line(item['name'])} · {steps} · {_source(item)}")
    parts: list[Report] = [[head, about] if about else [head]]
    if item["params"]:
        rows = [[param["name"], param["type"], _about(param)] for param in item["params"]]
        parts.append([title("Parameters"), Table(columns("name", "type", "about", wraps=("about",)), rows)])
    parts.append(_steps(item["steps"]))
    parts += [*_agents(item["steps"]), *_questions(item["steps"]), *_gates(item["steps"])]
    if item.get("then"):
        parts.append([title("Then"), f"  {one_line(item['then'])}"])
    if item["workflows"]:
        parts.append([title("Other workflows"), *(f"  {one_line(name)}" for name in item["workflows"])])
    if item["findings"]:
        lines = [
            f"  {one_line(finding['place'])}: {finding['severity']} {finding['code']}: {one_line(finding['message'])}"
            for finding in item["findings"]
        ]
        parts.append([title("Findings"), *lines])
    return paragraphs(*parts)


def _steps(steps: Sequence[Mapping[str, Any]]) -> Report:
    rows = [
        [str(step["number"]), step["id"], step["title"], step["phase"] or "", _transitions(step)]
        for step in steps
    ]
    titles = ("#", "step", "title", "phase", "transitions")
    return [
        title("Steps"),
        Table(columns(*titles, wraps=("title", "transitions"), optional=("phase",)), rows),
    ]


def _source(item: Mapping[str, object]) -> str:
    return f"{item['source']}, as bundled" if item.get("as_bundled") else str(item["source"])


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


def _agents(steps: Sequence[Mapping[str, Any]]) -> Iterator[Report]:
    dispatches = [(step["id"], step["dispatch"]) for step in steps if step.get("dispatch")]
    if dispatches:
        rows = [
            [step, work["agent"], work["workflow"] or "a prompt", _over(work), work["model"] or ""]
            for step, work in dispatches
        ]
        head = columns("step", "agent", "runs", "number", "model", wraps=("runs", "number"))
        yield [title("Dispatches"), Table(head, rows)]


def _over(work: Mapping[str, Any]) -> str:
    over = work["over"]
    if over is None:
        return "one"
    text = f"one for each of {over if isinstance(over, str) else ', '.join(map(example_text, over))}"
    return f"{text}; {work['join']} must succeed"


def _questions(steps: Sequence[Mapping[str, Any]]) -> Iterator[Report]:
    rows = [
        [step["id"], question["header"], question["text"], ", ".join(map(_option, question["options"]))]
        for step in steps
        for question in step.get("questions", ())
    ]
    if rows:
        head = columns("step", "header", "question", "answers", wraps=("question", "answers"))
        yield [title("Questions to the user"), Table(head, rows)]


def _option(option: Mapping[str, object]) -> str:
    return f"{option['label']} → {option['outcome']}" if option["outcome"] else str(option["label"])


def _gates(steps: Sequence[Mapping[str, Any]]) -> Iterator[Report]:
    rows = [
        [step["id"], gate["name"], gate["review"], str(gate["limit"]), gate["policy"] or "default"]
        for step in steps
        if (gate := step.get("gate"))
    ]
    if rows:
        yield [title("Gates"), Table(columns("step", "gate", "review", "limit", "policy"), rows)]


def _transitions(step: Mapping[str, Any]) -> str:
    transitions = ", ".join(f"{outcome} → {target or 'end'}" for outcome, target in step["next"].items())
    notes = []
    if step["decides"]:
        deciding = ("gate", "questions", "rules")
        notes.append(f"decided by its {next((key for key in deciding if step.get(key)), 'handler')}")
    if step["limit"]:
        notes.append(f"at most {count(step['limit'], 'attempt')}")
    if step["when"]:
        notes.append(f"only when {step['when']}")
    notes += _demands(step)
    return transitions + (f" ({'; '.join(notes)})" if notes else "")


def _demands(step: Mapping[str, Any]) -> Iterator[str]:
    if step["reports"]:
        yield "reports " + ", ".join(value["name"] for value in step["reports"])
    if step.get("forbids"):
        yield "forbids " + ", ".join(step["forbids"])
    for outcome, checks in (step.get("evidence") or {}).items():
        yield f"{outcome} needs evidence: {', '.join(checks)}"
