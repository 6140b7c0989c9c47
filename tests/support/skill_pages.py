"""What the docs say about the bundled skills, made from the skills themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers import mermaid
from flowrail.diagrams.renderers.markdown import cell, steps_table, table
from flowrail.discovery.locations import Root, Scope, bundled_folder
from flowrail.discovery.scan.scan import scan
from flowrail.machines.definition.workflow import Workflow
from flowrail.skills.summary import definition_of, items

SKILLS = Path(bundled_folder())


def counts() -> str:
    """Return how much there is of what, in one sentence."""
    found = items(())
    whole = [definition_of(address, ())[0] for item in found for address in addresses(item)]
    steps = [step for each in whole for step in each.steps]
    handed = sum(step.work is not None for step in steps)
    return (
        f"{len(found)} skills, {len(whole)} workflows, {len(steps)} steps; {handed} steps hand work to agents, "
        f"{sum(bool(step.questions) for step in steps)} ask the user, "
        f"{sum(step.gate is not None for step in steps)} are review gates."
    )


def pages() -> str:
    """Return one section a skill: what it is for, how it starts, what it takes, and its steps."""
    accepted = {each.skill: each.file.reading.declared for each in _scanned()}
    return "\n\n".join("\n\n".join(_skill(item, accepted[item["name"]])) for item in items(()))


def addresses(item: Mapping[str, Any]) -> list[str]:
    """Return the address of every workflow of a skill, the entry one first."""
    return [item["name"], *item["workflows"]]


def _skill(item: Mapping[str, Any], declared: Any) -> Iterator[str]:
    name = item["name"]
    definition = definition_of(name, ())[0]
    yield f"## {name}"
    yield definition.description
    yield f"```text\n{_first_command(name)}\n```"
    if declared.categories:
        yield f"Other skills can hand work over to it, as work of {', '.join(declared.categories)}."
    if declared.provides_to:
        yield "Hands its result to a skill that the user chooses."
    yield from _workflow(definition)
    yield f"```mermaid\n{mermaid.render(picture(definition))}\n```"
    for address in item["workflows"]:
        beside = definition_of(address, ())[0]
        yield f"### {address}"
        yield beside.description
        yield from _workflow(beside)


def _workflow(definition: Workflow) -> Iterator[str]:
    if definition.params:
        rows = [
            [f"`{name}`", arg.kind, _allowed(arg), cell(arg.description)]
            for name, arg in definition.params.items()
        ]
        yield table(["Parameter", "Type", "Value", "What it is"], rows)
    yield steps_table(definition)


def _allowed(arg: Any) -> str:
    parts = [", ".join(f"`{each}`" for each in arg.choices or ())]
    parts.append(
        "required" if arg.required else f"default `{arg.default}`" if arg.default not in {None, ""} else ""
    )
    return "; ".join(part for part in parts if part)


def _first_command(name: str) -> str:
    text = (SKILLS / name / "SKILL.md").read_text(encoding="utf-8")
    found = re.search(r"^(flow step .*)$", text.partition("\n---\n")[2], re.MULTILINE)
    assert found, name
    return found[1]


def _scanned() -> Any:
    return scan([Root(str(SKILLS), Scope.GLOBAL, "home")]).found
