"""List the skills, and describe one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from flowrail.command import Command
from flowrail.discovery.locations import BUNDLED
from flowrail.errors import DocumentError, TrustError
from flowrail.machines.frozen import Frozen
from flowrail.machines.loading.workflow_source import LoadedWorkflow
from flowrail.machines.values import Arg
from flowrail.operations.environment import Environment
from flowrail.operations.operation import operation
from flowrail.skills.catalog import Skill, listing, with_unread_workflow, workflow_file, workflows
from flowrail.skills.loader import Loader
from flowrail.text.phrases import count
from flowrail.text.report import Part, Report, Span, Style, Table, columns
from flowrail.text.safe_text import shortened

_LONGEST_PURPOSE = 90


@dataclass(frozen=True)
class ListedSkill(Skill):
    """A skill, as far as it can be read."""

    description: str = ""
    """What its workflow does."""
    total_steps: int = 0
    """The number of steps; 0 if they cannot be read."""
    params: Mapping[str, Arg] = Frozen()
    """The parameters, by name."""
    workflows: tuple[str, ...] = ()
    """The addresses of its other workflows."""
    needs_approval: str = ""
    """How a person approves it, if it is Python that may not run yet."""
    errors: int = 0
    """How many errors `flow check` finds; for a bundled skill, only whether it can be read."""

    @property
    def row(self) -> list[Part]:
        """The skill as a row of a table."""
        others = f" + {len(self.workflows)} more" if self.workflows else ""
        return [
            self.name,
            f"{'?' if self.needs_approval else self.total_steps}{others}",
            ", ".join(self.params),
            f"{self.source}, hides another" if self.hides else self.source,
            self._purpose,
        ]

    @property
    def _purpose(self) -> Part:
        """The beginning of the description, up to a full stop or a colon, or why the skill does not run."""
        if self.needs_approval:
            return Span(f"not approved; {self.needs_approval}", Style.WARNING)
        if self.errors:
            return Span(f"{count(self.errors, 'error')}: {Command('check', self.name)}", Style.BAD)
        return shortened(re.split(r"[.:](?: |$)", " ".join(self.description.split()))[0], _LONGEST_PURPOSE)


@dataclass(frozen=True)
class SkillList:
    """The skills that can be started here."""

    skills: tuple[ListedSkill, ...]
    """The nearest skill of each name."""

    def report(self) -> Report:
        """Return what a person reads."""
        titles = ("skill", "steps", "params", "source", "purpose")
        head = columns(*titles, wraps=("params", "source", "purpose"))
        return [Table(head, [skill.row for skill in self.skills])]


@operation("list", "flow list", "flow list --root ../skills")
def list_skills(environment: Environment) -> SkillList:
    """List the skills

    If several skills share a name, lists the one that runs. Of a skill in Python that is not approved, it
    shows the name and how to approve it.
    """
    for folder in with_unread_workflow(environment.roots):
        environment.tell(f"{folder} has no workflow that is read; see why: {Command('check', folder)}")
    return SkillList(tuple(all_skills(environment.loader)))


def all_skills(loader: Loader) -> list[ListedSkill]:
    """Return the nearest skill of each name. Errors do not raise."""
    return [_listed(skill, loader) for skill in listing(loader.roots)]


def _listed(skill: Skill, loader: Loader) -> ListedSkill:
    try:
        return described(skill, skill.name, loader.read(workflow_file(skill.name, skill)))
    except TrustError as error:
        return ListedSkill(**vars(skill), needs_approval=str(error.hint))
    except DocumentError:
        return ListedSkill(**vars(skill), errors=1)


def described(skill: Skill, address: str, loaded: LoadedWorkflow) -> ListedSkill:
    """Return *skill* with what one of its workflows says."""
    workflow = loaded.definition
    return ListedSkill(
        **{**vars(skill), "name": address},
        description=workflow.description,
        total_steps=workflow.total_steps,
        params=workflow.params,
        workflows=tuple(file.address for file in workflows(skill) if file.address != address),
        errors=0 if skill.source == BUNDLED else len(loaded.errors),  # our tests check the bundled ones
    )
