"""The skill that takes over: found by name, and compared later to see whether it changed."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.index import AmbiguousSkillError, Discovery, UnknownCandidateError
from flowrail.discovery.locations import Scope
from flowrail.errors import DocumentError
from flowrail.handoff.errors import TargetNotFoundError
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.storage import files
from flowrail.text import limits
from flowrail.text.suggestions import did_you_mean


class HandoffTarget(NamedTuple):
    """A candidate, the digest of its SKILL.md (empty if it is remote), and whether it has a workflow."""

    candidate: Candidate
    digest: str
    has_workflow: bool

    @property
    def root(self) -> str:
        """The folder named with ``--root`` that contains the target. Without it nobody would find the target."""
        return extra_root(self.candidate)


def choose_target(discovery: Discovery, name: str) -> HandoffTarget:
    """Return the target *name*. An unknown or ambiguous name is refused with the known names."""
    try:
        candidate = discovery.find(name)
    except AmbiguousSkillError as error:
        skills = error.details.get("skills")
        raise TargetNotFoundError(
            error.message, hint=error.hint, recoverable=True, target_skill=name, skills=skills
        ) from None
    except UnknownCandidateError:
        known = sorted(candidate.skill for candidate in discovery.candidates)
        raise TargetNotFoundError(
            f"no skill named `{name[:80]}` accepts handoffs",
            hint=did_you_mean(name, known, Hint("list the skills that do: ", Command("handoff targets"))),
            recoverable=True,
            target_skill=name[:80],
            skills=known,
        ) from None
    folder = os.path.dirname(candidate.path)
    has_workflow = not candidate.remote and entry_file(folder, candidate.skill) is not None
    return HandoffTarget(candidate, skill_file_digest(candidate), has_workflow)


def extra_root(candidate: Candidate) -> str:
    """Return the folder named with ``--root`` that contains *candidate*, or an empty text."""
    return candidate.root if candidate.scope is Scope.EXTRA else ""


def skill_file_digest(candidate: Candidate) -> str:
    """Return the digest of the target's SKILL.md, or an empty text if it cannot be read here."""
    if candidate.remote:
        return ""
    try:
        data = files.read_bounded(
            candidate.path, limit=limits.JSON_BYTES, what="the target's SKILL.md", follow=True
        )
    except DocumentError:
        return ""
    return sha256(data).hexdigest()
