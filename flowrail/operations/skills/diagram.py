"""Draw a workflow, or a session on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from flowrail.command import Command, Hint
from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.diagrams.renderers import markdown, mermaid, svg
from flowrail.diagrams.session_trace import session_picture
from flowrail.errors import FlowError, UsageError
from flowrail.machines.findings import raise_errors
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import OptionalSkill
from flowrail.storage.files import read_bounded, write_output
from flowrail.text.phrases import count
from flowrail.text.report import Line, Report
from flowrail.text.unknown_names import unknown

LARGEST_PICTURE = 16_000_000
RENDERERS: Mapping[str, Callable[[Picture], str]] = {
    "mmd": mermaid.render,
    "mermaid": mermaid.render,
    "svg": svg.render,
    "md": markdown.render,
}
"""The renderers by the extension of the file."""


@dataclass(frozen=True)
class DrawnPicture:
    """A picture, and where it was written."""

    picture: Picture
    """The nodes, the arrows, and the session if one is shown."""
    file: str | None = None
    """The file that was written or compared."""

    def report(self) -> Report:
        """Return the picture as Mermaid, or nothing if a file has it."""
        if self.file is not None:
            return []
        return [Line((line,), wraps=False) for line in mermaid.render(self.picture).split("\n")]


@operation(
    "diagram",
    "flow diagram problem-analysis",
    "flow diagram problem-analysis -o picture.svg",
    "flow diagram problem-analysis --check picture.svg",
    "flow diagram --session problem-analysis-k3x9q2",
)
def diagram(
    environment: Environment,
    skill: OptionalSkill = None,
    *,
    session: Annotated[
        str | None,
        Help("Show this session: its step, its path and the steps that are left.", metavar="ID"),
    ] = None,
    output: Annotated[
        str | None,
        Help("Write it there, in the format of its extension: svg, mmd or md.", short="-o", metavar="FILE"),
    ] = None,
    check: Annotated[
        str | None, Help("Compare this file with the workflow, and exit 1 if it differs.", metavar="FILE")
    ] = None,
) -> DrawnPicture:
    """Draw a workflow, or a session on it

    Prints a Mermaid flowchart, or writes a file: a picture (svg), Mermaid (mmd) or a table of the steps (md). With
    --session: the current step, the path so far with counts and times, and the steps left.
    """
    if (skill is None) == (session is None):
        hint = Hint("see the skills: ", Command("list"))
        raise UsageError("either a skill or a session is needed", hint=hint)
    if check and output:
        raise UsageError("--check only compares a file", hint="leave out --output")
    drawn = _of_session(environment, session) if session else _of_skill(environment, str(skill))
    file = check or output
    if file is None:
        if len(drawn.arrows) > mermaid.MOST_ARROWS:
            environment.tell(
                f"{len(drawn.arrows)} arrows, but Mermaid draws at most {mermaid.MOST_ARROWS}: write an svg"
            )
        return DrawnPicture(drawn)
    data = f"{_renderer(file)(drawn)}\n".encode()
    if check:
        if read_bounded(check, limit=LARGEST_PICTURE, what="the picture", follow=True) != data:
            line = Command("diagram", *([skill] if skill else []), session=session, output=check)
            raise FlowError(
                f"{check} differs from `{drawn.name}`",
                code="PICTURE_OUTDATED",
                hint=Hint("write it again: ", line),
            )
        environment.tell(f"{check} is up to date")
        return DrawnPicture(drawn, check)
    write_output(file, data)
    environment.tell(f"written to {file}")
    return DrawnPicture(drawn, file)


def _renderer(file: str) -> Callable[[Picture], str]:
    """Return the renderer for a file by its extension."""
    extension = os.path.splitext(file)[1].removeprefix(".").lower()
    if extension not in RENDERERS:
        raise unknown("picture format", extension, RENDERERS)
    return RENDERERS[extension]


def _of_skill(environment: Environment, skill: str) -> Picture:
    """Return the picture of a skill's workflow as far as it can be read, and say what is missing."""
    loaded = environment.loader.load(skill)
    workflow = loaded.definition
    if not workflow.steps:
        raise_errors(workflow.name, loaded.findings)
    if errors := loaded.errors:
        line = Command("check", skill)
        environment.tell(
            f"`{skill}` has {count(len(errors), 'error')} and is drawn as far as possible: {line}"
        )
    return picture(workflow)


def _of_session(environment: Environment, session_id: str) -> Picture:
    """Return the picture of a session on the workflow that it keeps."""
    store = environment.store
    return session_picture(store.workflow(store.read(session_id).session), store.records(session_id))
