"""Check a SKILL.md: its fields, its handoff metadata, and the commands that it shows.

Hosts differ in what they tolerate. A file that follows the open skill specification works in all of them. The keys of a
handoff declaration are not in the specification, but documented, so they are not reported. An agent reads SKILL.md before
anything runs: if it shows a command that the workflow does not accept, the agent's first command fails.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated

from pydantic import Field, StringConstraints

from flowrail.discovery.candidate import TRIGGER, LeftOut, Skipped, is_plain
from flowrail.discovery.declaration import (
    FoundSkill,
    Header,
    line_of_block,
    read_declaration,
    unknown_keys,
    validate,
)
from flowrail.discovery.frontmatter import Frontmatter
from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.scan import SKILL_FILE, judge
from flowrail.machines.findings import Finding, Place, UnplacedFinding
from flowrail.text.phrases import did_you_mean, listed, near
from flowrail.text.safe_text import in_quotes
from flowrail.text.validation import Bounds

_OF_HANDOFFS = {field.name for field in fields(Header)} - {"name", "description", "metadata"}
_HINTS: Mapping[str, str] = {
    "name": "use the folder's name: 1 to 64 lower-case letters, digits and single hyphens",
    "description": "say what the skill does and when to use it, in at most 1024 characters",
    "license": "use one text",
    "compatibility": "use one text of 1 to 500 characters",
    "metadata": "use keys and texts; write nested values as text that contains YAML",
    "allowed-tools": "use one text with the tools separated by spaces",
}
"""The fields of the specification, each with what it takes."""
_COMMAND = re.compile(r"(?m)(?:`|^[ \t$]*)flow step ([a-z0-9/-]+)")
"""A command in back quotes, or on a line of its own."""


@dataclass(frozen=True)
class Fields:
    """The fields of the open skill specification."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    description: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)]
    license: str | None = None
    compatibility: Annotated[str, Bounds(min_length=1, max_length=500)] | None = None
    metadata: dict[str, str] | None = None
    allowed_tools: Annotated[str | None, Field(alias="allowed-tools")] = None


def in_card(code: str, message: str, hint: str, line: int, severity: str = "") -> Finding:
    """Return a finding about a line of SKILL.md."""
    return UnplacedFinding(code, (), message, hint, severity=severity).at(Place(SKILL_FILE, line or 1))


def departures(front: Frontmatter, folder: str) -> Iterator[Finding]:
    """Yield the differences of the SKILL.md in *folder* from the specification."""
    if front.problem:
        hint = "begin the file with `---`, `name:`, `description:` and another `---`"
        yield in_card("FR168", front.problem.reason, hint, front.problem.line, "error")
        return
    for key, line in front.unquoted.items():
        yield in_card("FR168", f"`{key}` has an unquoted `: ` in its text", "put the text in quotes", line)
    own = {key: value for key, value in front.values.items() if key not in _OF_HANDOFFS}
    for problem in validate(Fields, own, front)[1]:
        key = problem.reason.partition("`")[2].partition("`")[0].partition(".")[0]
        is_missing = key in {"name", "description"} and not front.values.get(key)
        hint = _HINTS.get(key, "move it under `metadata`: the specification has six fields")
        yield in_card("FR168", problem.reason, hint, problem.line, "error" if is_missing else "")
    name, description = front.values.get("name"), front.values.get("description")
    if isinstance(name, str) and name != folder:
        message = f"the name is `{in_quotes(name)}`, and the folder is `{in_quotes(folder)}`"
        yield in_card("FR168", message, "give the folder and the skill the same name", front.line("name"))
    if str(description).startswith("TODO"):
        message, line = "the description is not written yet", front.line("description")
        yield in_card("FR168", message, _HINTS["description"], line)


def handoff_findings(front: Frontmatter, folder: str) -> Iterator[Finding]:
    """Yield the errors of the handoff metadata in the SKILL.md in *folder*, and what is read leniently."""
    line = line_of_block(front)
    if front.problem or not line:
        return
    declaration = read_declaration(front)
    for key, at in unknown_keys(front):
        message = f"`{in_quotes(key)}` is not a key of handoff metadata"
        yield in_card("FR183", message, "check the spelling, or remove the key", at)
    for problem in declaration.problems:
        hint = "write a value of the expected type"
        yield in_card("FR183", problem.reason, hint, problem.line or line, "error")
    judged = judge(FoundSkill(folder, "", Root("", Scope.PROJECT, ""), declaration))
    if isinstance(judged, Skipped):
        if judged.is_wrong and not declaration.problems:
            severity = "error" if judged.kind is LeftOut.MALFORMED else ""
            yield in_card("FR183", judged.reason, "add it, or correct it", line, severity)
        return
    values, trigger = declaration.values, declaration.values.get("trigger", TRIGGER)
    if not declaration.is_newer and values["description"] == str(front.values.get("description", "")).strip():
        hint = "add `handoff_description` with the text for the menu"
        yield in_card("FR183", "the menu shows the skill's `description`", hint, line)
    if declaration.is_newer and "schema_version" not in values:
        message = f"no `schema_version`; {declaration.assumed_version} is assumed"
        yield in_card("FR183", message, "declare `schema_version`", line)
    if not is_plain(trigger):
        message = (
            f"the trigger `{in_quotes(trigger)}` is more than one invocation; `{TRIGGER}` is used instead"
        )
        yield in_card("FR183", message, "write one invocation, without shell operators or variables", line)
    elif TRIGGER not in trigger:
        message = f"the trigger `{in_quotes(trigger)}` does not contain `{TRIGGER}`"
        yield in_card("FR183", message, f"write `{TRIGGER}` where the payload's path belongs", line)


def command_findings(text: str, address: str, known: Collection[str]) -> Iterator[Finding]:
    """Yield the commands in the *text* of a SKILL.md that name an unknown workflow of the skill at *address*.

    *known* are the addresses of its workflows. One command must start the skill itself.
    """
    shown = {match[1]: text.count("\n", 0, match.start(1)) + 1 for match in _COMMAND.finditer(text)}
    if address not in shown:
        line = next((shown[named] for named in shown if near(named, [address])), 1)
        message = f"SKILL.md never shows `flow step {address}`"
        yield in_card("FR169", message, f"add `flow step {address}`", line)
    for named, line in shown.items():
        if named.partition("/")[0] == address and named not in known:
            hint = did_you_mean(named, known, f"it has {listed(known)}")
            yield in_card("FR169", f"unknown workflow `{named}`", hint, line)
