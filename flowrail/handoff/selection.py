"""A choice made sure of: named without doubt, still there, still the same, byte for byte."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.index import AmbiguousSkillError, Discovery, UnknownCandidateError
from flowrail.errors import DocumentError
from flowrail.handoff.errors import TargetNotFoundError
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.storage import files
from flowrail.text.suggestions import did_you_mean

LARGEST_CARD = 4 * 1024 * 1024


class Chosen(NamedTuple):
    """A target, the digest of its SKILL.md (empty where it lives elsewhere), and whether we run it."""

    candidate: Candidate
    digest: str
    ours: bool


def choose(discovery: Discovery, name: str) -> Chosen:
    """Return the target called *name*; refused where there is none, or more than one."""
    try:
        candidate = discovery.find(name)
    except AmbiguousSkillError as error:
        skills = error.details.get("skills")
        raise TargetNotFoundError(
            error.message, hint=error.hint, recoverable=True, target_skill=name, skills=skills
        ) from None
    except UnknownCandidateError:
        known = sorted(each.skill for each in discovery.candidates)
        raise TargetNotFoundError(
            f"no skill that accepts handoffs is called `{name[:80]}`",
            hint=did_you_mean(name, known, Hint("see which do: ", Command("handoff targets"))),
            recoverable=True,
            target_skill=name[:80],
            skills=known,
        ) from None
    folder = os.path.dirname(candidate.path)
    ours = not candidate.remote and entry_file(folder, candidate.skill) is not None
    return Chosen(candidate, card_digest(candidate), ours)


def card_digest(candidate: Candidate) -> str:
    """Return the digest of a target's SKILL.md as it is now, empty where there is none to read."""
    if candidate.remote:
        return ""
    try:
        data = files.read_bounded(candidate.path, limit=LARGEST_CARD, what="the target's card", follow=True)
    except DocumentError:
        return ""
    return sha256(data).hexdigest()
