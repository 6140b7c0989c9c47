"""A skill as discovery finds it: a candidate that can take over work, or a skipped folder with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowrail.command import Hint
from flowrail.discovery.diagnostics import CODES, Note
from flowrail.discovery.locations import Scope

ANYONE = "*"
"""Accepts work from any skill."""


class Candidate(NamedTuple):
    """A skill that work can be handed to.

    ``skill`` is the name of its folder and its key; ``name`` is a label. ``origins`` says where each declared field was
    read: a key of the frontmatter, ``registry``, or ``default``. ``description`` is shown in the menu. ``priority`` is
    that of the scope unless the registry sets another. ``overridden`` are the skill's own values of fields that a
    person edited in the registry.
    """

    skill: str
    scope: Scope
    path: str
    name: str = ""
    priority: int = 0
    categories: tuple[str, ...] = ()
    description: str = ""
    trigger: str = "{payload_path}"
    schema_version: str = "3.0"
    schema_type: str = ""
    accepts_from: tuple[str, ...] = (ANYONE,)
    provides_to: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    optional_consumes: tuple[str, ...] = ()
    input_requirements: tuple[str, ...] = ()
    output_types: tuple[str, ...] = ()
    health_check: str | None = None
    duration: str = ""
    complexity: str = ""
    autonomous: bool | None = None
    version: str = ""
    tags: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    dialect: str = ""
    remote: bool = False
    root: str = ""
    origins: Mapping[str, str] = {}
    overridden: Mapping[str, object] = {}
    notes: tuple[Note, ...] = ()

    @property
    def protocol_version(self) -> str:
        """The schema version, by its name in the older dialect."""
        return self.schema_version

    def admits(self, source: str) -> bool:
        """Whether *source* may hand off to it. A skill does not hand off to itself."""
        if source in {self.skill, self.name}:
            return False
        return ANYONE in self.accepts_from or source in self.accepts_from

    def data(self) -> dict[str, object]:
        """Return the candidate as plain data, for JSON."""
        return {
            **self._asdict(),
            "scope": self.scope.value,
            "origins": dict(self.origins),
            "overridden": dict(self.overridden),
            "notes": [note.data() for note in self.notes],
        }


class Skipped(NamedTuple):
    """A folder that is not a candidate, with the code and the reason. ``line`` is 0 for the whole file."""

    skill: str
    scope: Scope
    path: str
    code: str
    reason: str
    line: int = 0
    name: str = ""
    root: str = ""
    is_skill: bool = True
    notes: tuple[Note, ...] = ()
    schema_version: str = ""

    @property
    def hint(self) -> str | Hint:
        """The change that would make it a candidate."""
        return CODES[self.code].hint

    @property
    def severity(self) -> str:
        """How serious the reason is."""
        return CODES[self.code].severity

    def data(self) -> dict[str, object]:
        """Return the skipped folder as plain data, for JSON."""
        return {
            **self._asdict(),
            "scope": self.scope.value,
            "severity": self.severity,
            "hint": str(self.hint),
            "notes": [note.data() for note in self.notes],
        }
