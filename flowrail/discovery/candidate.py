"""A skill as discovery finds it: a candidate that can take over work, or a folder that was left out and why."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum

from flowrail.discovery.locations import Scope

ANYONE = "*"
"""Accepts work from any skill."""
TRIGGER = "{payload_path}"
"""The trigger of a skill that declares none, and the placeholder in the others."""
_SHELL = re.compile(r"[;|&<>`$()\\]")


@dataclass(frozen=True)
class Candidate:
    """A skill that work can be handed to."""

    skill: str
    """The name of its folder, and its key."""
    scope: Scope
    path: str
    """The path of its SKILL.md, or the address of a remote skill."""
    name: str = ""
    """Its label; it may differ from the folder's name."""
    priority: int = 0
    """The priority of its scope, unless the registry sets another."""
    categories: tuple[str, ...] = ()
    description: str = ""
    """The text for menus."""
    trigger: str = TRIGGER
    schema_version: str = "3.0"
    """The payload version that it reads."""
    schema_type: str = ""
    accepts_from: tuple[str, ...] = (ANYONE,)
    provides_to: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    """Fields that a payload must have."""
    optional_consumes: tuple[str, ...] = ()
    input_requirements: tuple[str, ...] = ()
    output_types: tuple[str, ...] = ()
    health_check: str | None = None
    """A program that says whether it can work; run only on request."""
    duration: str = ""
    """The estimated duration, such as ``hours``."""
    complexity: str = ""
    autonomous: bool | None = None
    version: str = ""
    tags: tuple[str, ...] = ()
    """From the registry."""
    remarks: tuple[str, ...] = ()
    """Notes in the registry."""
    remote: bool = False
    """Whether it is only in the registry, not on this machine."""
    root: str = ""
    """The folder in which its own folder is."""

    def admits(self, source: str) -> bool:
        """Whether *source* may hand off to it. A skill does not hand off to itself."""
        if source in {self.skill, self.name}:
            return False
        return ANYONE in self.accepts_from or source in self.accepts_from


class LeftOut(StrEnum):
    """The kind of reason why a folder is not a candidate."""

    MALFORMED = "malformed"
    """Its SKILL.md or its handoff metadata has an error."""
    UNSUPPORTED = "unsupported"
    """It reads a payload version that flow does not write."""
    DECLINES = "declines"
    """It says that it accepts no handoffs."""
    PLAIN = "plain"
    """It says nothing about accepting handoffs."""
    HIDDEN = "hidden"
    """A nearer folder has its name."""
    NO_SKILL = "no skill"
    """It has no SKILL.md."""


@dataclass(frozen=True)
class Skipped:
    """A folder that is not a candidate, with a sentence that says why."""

    skill: str
    scope: Scope
    path: str
    kind: LeftOut
    reason: str
    line: int = 0
    """The line of the reason; 0 for the whole file."""
    schema_version: str = ""
    """The payload version that it declares."""

    @property
    def is_skill(self) -> bool:
        """Whether the folder has a SKILL.md."""
        return self.kind is not LeftOut.NO_SKILL

    @property
    def is_wrong(self) -> bool:
        """Whether its author meant it to be a candidate, so that menus always show the reason."""
        return self.kind in {LeftOut.MALFORMED, LeftOut.UNSUPPORTED}

    @property
    def place(self) -> str:
        """The file and line, as in ``SKILL.md:4``."""
        return f"{self.path}:{self.line}" if self.line else self.path


def is_plain(trigger: str) -> bool:
    """Whether *trigger* is one invocation for a shell: no operators, no expansion, no path of a program."""
    first = trigger.split()[:1]
    if _SHELL.search(trigger) or (first and first[0].count("/") > 1):
        return False
    try:
        shlex.split(trigger)
    except ValueError:  # an unclosed quote
        return False
    return True
