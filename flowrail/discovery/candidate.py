"""A skill as found: one that can take over work, or one that cannot and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowrail.discovery.diagnostics import HINTS, Note
from flowrail.discovery.locations import Scope

#: Accepts work from any skill.
ANYONE = "*"


class Candidate(NamedTuple):
    """A skill that work can be handed to.

    ``skill`` is its folder's name and the key; ``name`` is what it calls itself. ``origins`` says for
    each declared field where it was read: a key of the frontmatter, ``registry``, or ``default``.
    ``description`` is the menu's line. ``priority`` is the scope's unless the registry sets another.
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
    hides: tuple[str, ...] = ()
    hidden_by: str = ""
    origins: Mapping[str, str] = {}
    notes: tuple[Note, ...] = ()

    @property
    def legacy(self) -> bool:
        """Whether only the older dialect is spoken."""
        return self.dialect == "v2"

    @property
    def protocol_version(self) -> str:
        """The schema version, as the older dialect calls it."""
        return self.schema_version

    def admits(self, source: str) -> bool:
        """Whether *source* may hand work to it; nobody hands work to itself."""
        if source in {self.skill, self.name}:
            return False
        return ANYONE in self.accepts_from or source in self.accepts_from

    def data(self) -> dict[str, object]:
        """Return it as plain data, for JSON."""
        return {
            **self._asdict(),
            "scope": self.scope.value,
            "legacy": self.legacy,
            "origins": dict(self.origins),
            "notes": [note.data() for note in self.notes],
        }


class Skipped(NamedTuple):
    """A folder that is no candidate, with the code and the reason; ``line`` is 0 for the whole file."""

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
    def hint(self) -> str:
        """The one thing that would make it a candidate."""
        return HINTS[self.code]

    def data(self) -> dict[str, object]:
        """Return it as plain data, for JSON."""
        return {
            **self._asdict(),
            "scope": self.scope.value,
            "hint": self.hint,
            "notes": [note.data() for note in self.notes],
        }
