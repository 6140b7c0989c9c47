"""Create a skill."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated

import flowrail
from flowrail.command import Command
from flowrail.discovery.locations import bundled_folder
from flowrail.hosts.host import CLAUDE_CODE
from flowrail.hosts.settings import inside_project
from flowrail.machines.loading.skill_folder import find_file
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.skills import scaffold
from flowrail.text.report import Report, command
from flowrail.text.safe_text import one_line, visible


@dataclass(frozen=True)
class CreatedSkill:
    """A new skill, and what to do with it."""

    skill: str
    """Its name."""
    folder: str
    """Its folder."""
    files: tuple[str, ...]
    """The paths of its files."""
    commands: tuple[Command, ...]
    """The commands to run next: a person approves it if it needs that, then it is checked, tested and started."""
    schema: str
    """The file with the JSON Schema of `workflow.yaml`, for editors."""

    def report(self) -> Report:
        """Return what a person reads."""
        yield one_line(f"{self.skill} created in {self.folder}: {', '.join(self.files)}")
        yield from (command(visible(str(following))) for following in self.commands)
        yield one_line(f"the keys of workflow.yaml, for editors: {self.schema}")


@operation("new", "flow new release-check", "flow new release-check --python")
def new(
    environment: Environment,
    name: Annotated[str, Help("The name of the skill.", metavar="NAME")],
    *,
    python: Annotated[bool, Help("Write the workflow in Python instead of YAML.")] = False,
) -> CreatedSkill:
    """Create a skill

    Writes a small workflow that passes `flow check` and `flow test`. Edit the steps, then run `flow check NAME`
    to list all errors.
    """
    root = inside_project(
        os.path.join(environment.project, CLAUDE_CODE.skills),
        environment.project,
        environment.home,
        instead="create the skill in another project",
    )
    folder = os.path.join(root, name)
    files = scaffold.make(name, folder, python=python)
    hides_bundled = find_file(os.path.join(bundled_folder(), name), name) is not None
    path = os.path.relpath(folder, environment.cwd)
    return CreatedSkill(
        skill=name,
        folder=folder,
        files=files,
        commands=(
            *([Command("trust", name)] if python or hides_bundled else []),
            Command("check", path),
            Command("test", path),
            Command("step", name),
        ),
        schema=_schema(),
    )


def _schema() -> str:
    """Return the path of the JSON Schema: a wheel contains it, a checkout has it in `docs`."""
    package = os.path.dirname(flowrail.__file__)
    installed = os.path.join(package, "reference")
    checkout = os.path.join(os.path.dirname(package), "docs", "reference")
    return os.path.join(installed if os.path.isdir(installed) else checkout, "workflow.schema.json")
