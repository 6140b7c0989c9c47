"""Bundled skills with one mistake each, of the kinds that authors make."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from flowrail.discovery.locations import bundled_folder

Data = dict[str, Any]
Files = Mapping[str, str | None]


class Mutant(NamedTuple):
    """A mistake in a skill: its kind, its place, and the changed files. The content `None` removes a file."""

    skill: str
    kind: str
    place: str
    files: Files

    def write(self, root: Path) -> Path:
        """Write the changed skill below *root* and return its folder."""
        folder = root / self.skill
        shutil.copytree(Path(bundled_folder()) / self.skill, folder)
        for path, text in self.files.items():
            if text is None:
                (folder / path).unlink()
            else:
                (folder / path).write_text(text, encoding="utf-8")
        return folder


def mutants(*kinds: str) -> Iterator[Mutant]:
    """Yield every mutant of these kinds of every bundled skill, in a fixed order."""
    root = Path(bundled_folder())
    for path in sorted([*root.glob("*/workflow.yaml"), *root.glob("*/workflows/*.yaml")]):
        skill, _, file = path.relative_to(root).as_posix().partition("/")
        text = path.read_text(encoding="utf-8")
        data = yaml.safe_load(text)
        for index, step in enumerate(data["steps"]):
            before, after = data["steps"][:index], data["steps"][index + 1 :]
            changes = (*_changed_steps(step), *_changed_decisions(step), *_changed_facts(step, text))
            for kind, place, steps in (
                *((kind, place, [*before, changed]) for kind, place, changed in changes),
                *_unreachable(step, before),
            ):
                if kind in kinds:
                    changed_file = yaml.safe_dump({**data, "steps": [*steps, *after]}, sort_keys=False)
                    yield Mutant(skill, kind, f"{file} {step['id']} {place}", {file: changed_file})
            for kind, place, files in _changed_texts(root / skill, data["name"], step):
                if kind in kinds:
                    yield Mutant(skill, kind, f"{file} {step['id']} {place}", files)


def _changed_steps(step: Data) -> Iterator[tuple[str, str, Data]]:
    transitions = step["next"]
    for outcome, target in transitions.items():
        others = {other: to for other, to in transitions.items() if other != outcome}
        yield "transition removed", outcome, {**step, "next": others}
        if target is not None:
            yield "target missing", outcome, {**step, "next": {**transitions, outcome: f"{target}x"}}
    yield "step renamed", "", {**step, "id": f"{step['id']}_new"}
    if "limit" in step:
        yield "limit removed", "", {key: value for key, value in step.items() if key != "limit"}
    dispatch = step.get("dispatch") or {}
    for key in ("run", "over"):
        if isinstance(dispatch.get(key), str):
            yield "reference changed", key, {**step, "dispatch": {**dispatch, key: f"{dispatch[key]}s"}}
    if "gate" in step:
        yield "reference changed", "review", {**step, "gate": {**step["gate"], "review": step["id"]}}


def _changed_decisions(step: Data) -> Iterator[tuple[str, str, Data]]:
    """Let a rule or an answer decide on an outcome without a transition."""
    unused = next(outcome for outcome in ("skip", "fail", "iterate", "ok") if outcome not in step["next"])
    rules, questions = step.get("rules", []), step.get("questions", [])
    for number, rule in enumerate(rules):
        changed = [*rules[:number], {**rule, "outcome": unused}, *rules[number + 1 :]]
        yield "outcome changed", f"rule {number}", {**step, "rules": changed}
    for number, question in enumerate(questions):
        first, *options = question["options"]
        if first.get("outcome"):
            asked = {**question, "options": [{**first, "outcome": unused}, *options]}
            changed = [*questions[:number], asked, *questions[number + 1 :]]
            yield "outcome changed", f"question {number}", {**step, "questions": changed}


def _changed_facts(step: Data, text: str) -> Iterator[tuple[str, str, Data]]:
    """Rename a fact that the workflow's file uses."""
    reports = step.get("reports", {})
    for name in reports:
        if len(re.findall(rf"\b{name}\b", text)) > 1:
            renamed = {f"{key}x" if key == name else key: value for key, value in reports.items()}
            yield "fact renamed", name, {**step, "reports": renamed}


def _unreachable(step: Data, before: list[Data]) -> Iterator[tuple[str, str, list[Data]]]:
    """Lead all earlier transitions to *step* past it."""
    if before:
        past = next((to for to in step["next"].values() if to != step["id"]), None)
        steps = [
            {
                **each,
                "next": {outcome: past if to == step["id"] else to for outcome, to in each["next"].items()},
            }
            for each in before
        ]
        yield "step unreachable", "", [*steps, step]


def _changed_texts(skill: Path, workflow: str, step: Data) -> Iterator[tuple[str, str, Files]]:
    path = "/".join(["steps", *workflow.split("/")[1:], f"{step['id']}.md"])
    if not (skill / path).exists():
        return
    text = (skill / path).read_text(encoding="utf-8")
    yield "text renamed", "", {path: None, path.replace(".md", ".old.md"): text}
    for name in sorted(set(re.findall(r"(?<!\$)\$([a-z][a-z0-9_]*)", text))):
        yield "placeholder renamed", name, {path: re.sub(rf"\${name}\b", f"${name}x", text)}
