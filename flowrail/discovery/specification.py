"""Check a SKILL.md: against the open skill specification, and its handoff metadata.

Hosts differ in what they tolerate. A file that follows the specification works in all of them. The keys of a handoff
declaration are not in the specification, but documented, so they are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated

from annotated_types import Len
from pydantic import Field, StringConstraints

from flowrail.discovery.candidate import TRIGGER, LeftOut, Skipped, is_plain
from flowrail.discovery.declaration import FoundSkill, Header, read_declaration, unknown_keys, validate
from flowrail.discovery.frontmatter import Frontmatter
from flowrail.discovery.locations import Root, Scope
from flowrail.discovery.scan import judge
from flowrail.text.safe_text import in_quotes

ERROR, WARNING = "error", "warning"
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


@dataclass(frozen=True)
class Fields:
    """The fields of the open skill specification."""

    __pydantic_config__ = {"extra": "forbid", "use_attribute_docstrings": True}  # noqa: RUF012

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    description: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)]
    license: str | None = None
    compatibility: Annotated[str, Len(1, 500)] | None = None
    metadata: dict[str, str] | None = None
    allowed_tools: Annotated[str | None, Field(alias="allowed-tools")] = None


@dataclass(frozen=True)
class FileIssue:
    """A departure of a SKILL.md, and what to write."""

    severity: str
    reason: str
    hint: str
    line: int


def departures(front: Frontmatter, folder: str) -> Iterator[FileIssue]:
    """Yield the differences of the SKILL.md in *folder* from the specification."""
    if front.problem:
        hint = "begin the file with `---`, `name:`, `description:` and another `---`"
        yield FileIssue(ERROR, front.problem.reason, hint, front.problem.line)
        return
    for key, line in front.unquoted.items():
        yield FileIssue(WARNING, f"`{key}` has an unquoted `: ` in its text", "put the text in quotes", line)
    own = {key: value for key, value in front.values.items() if key not in _OF_HANDOFFS}
    _, problems = validate(Fields, own, front)
    for problem in problems:
        key = problem.reason.partition("`")[2].partition("`")[0].partition(".")[0]
        is_missing = key in {"name", "description"} and not front.values.get(key)
        hint = _HINTS.get(key, "move it under `metadata`: the specification has six fields")
        yield FileIssue(ERROR if is_missing else WARNING, problem.reason, hint, problem.line)
    name, description = front.values.get("name"), front.values.get("description")
    if isinstance(name, str) and name != folder:
        reason = f"the name is `{in_quotes(name)}`, and the folder is `{in_quotes(folder)}`"
        yield FileIssue(WARNING, reason, "give the folder and the skill the same name", front.line("name"))
    if str(description).startswith("TODO"):
        reason = "the description is not written yet"
        yield FileIssue(WARNING, reason, _HINTS["description"], front.line("description"))


def handoff_issues(front: Frontmatter, folder: str) -> Iterator[FileIssue]:
    """Yield the errors of the handoff metadata in the SKILL.md in *folder*, and what is read leniently."""
    declaration = read_declaration(front)
    line = declaration.line
    if front.problem or not line:
        return
    judged = judge(FoundSkill(folder, "", Root("", Scope.PROJECT, ""), declaration))
    for key, at in unknown_keys(front):
        hint = "check the spelling, or remove the key"
        yield FileIssue(WARNING, f"`{in_quotes(key)}` is not a key of handoff metadata", hint, at)
    for problem in declaration.problems:
        yield FileIssue(ERROR, problem.reason, "write a value of the expected type", problem.line or line)
    if isinstance(judged, Skipped):
        if judged.is_wrong and not declaration.problems:
            severity = ERROR if judged.kind is LeftOut.MALFORMED else WARNING
            yield FileIssue(severity, judged.reason, "add it, or correct it", line)
        return
    values = declaration.values
    if not declaration.is_newer and values["description"] == str(front.values.get("description", "")).strip():
        hint = "add `handoff_description` with the text for the menu"
        yield FileIssue(WARNING, "the menu shows the skill's `description`", hint, line)
    if declaration.is_newer and "schema_version" not in values:
        reason = f"no `schema_version`; {declaration.assumed_version} is assumed"
        yield FileIssue(WARNING, reason, "declare `schema_version`", line)
    trigger = values.get("trigger", TRIGGER)
    if not is_plain(trigger):
        reason = (
            f"the trigger `{in_quotes(trigger)}` is more than one invocation; `{TRIGGER}` is used instead"
        )
        yield FileIssue(WARNING, reason, "write one invocation, without shell operators or variables", line)
    elif TRIGGER not in trigger:
        reason = f"the trigger `{in_quotes(trigger)}` does not contain `{TRIGGER}`"
        yield FileIssue(WARNING, reason, f"write `{TRIGGER}` where the payload's path belongs", line)
