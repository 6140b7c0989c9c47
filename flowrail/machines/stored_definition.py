"""A workflow as a session keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StoredDefinition:
    """The workflow as a session uses it, and where it came from."""

    skill: str
    source: str
    folder: str
    """The skill's folder: its name if the skill is bundled, and empty if a Python program defined the workflow."""
    file: str
    """The workflow's file in the folder."""
    files: Mapping[str, str]
    """The digests of all files that were read."""
    functions: bool
    """Whether code of the author is needed to continue."""
    workflow: Mapping[str, Any]

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """The steps as they are stored."""
        steps: Sequence[Mapping[str, Any]] = self.workflow["steps"]
        return steps
