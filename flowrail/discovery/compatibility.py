"""Which payload version can be converted to which."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

#: The versions that are known, oldest first.
VERSIONS = ("1.0", "1.2", "2.0", "3.0")
#: The versions that `flow handoff send` writes. The others are only read.
WRITTEN_VERSIONS = ("2.0", "3.0")


class CompatibilityLevel(StrEnum):
    """Whether a payload of one version can be sent to a target that reads another."""

    YES = "yes"
    PARTIAL = "partial"
    ADAPTER = "adapter"
    NO = "no"


class Compatibility(NamedTuple):
    """Whether a payload can be converted, and what the conversion loses."""

    verdict: CompatibilityLevel
    reason: str

    @property
    def possible(self) -> bool:
        """Whether there is a conversion."""
        return self.verdict is not CompatibilityLevel.NO

    def in_words(self, sent: str, read: str) -> str:
        """Return the verdict on these two versions in one line."""
        return f"{sent} to {read}: {self.verdict.value}, {self.reason}"


_MATRIX = {
    ("3.0", "2.0"): (CompatibilityLevel.PARTIAL, "downgrade: the trace and the context tiers are lost"),
    ("3.0", "1.2"): (CompatibilityLevel.NO, "programming-pm internal schema (incompatible)"),
    ("2.0", "3.0"): (CompatibilityLevel.YES, "upgrade"),
    ("1.2", "3.0"): (CompatibilityLevel.NO, "an adapter is needed, and adapters are deferred"),
    ("1.0", "2.0"): (CompatibilityLevel.ADAPTER, "the fields that 1.0 lacks are added"),
    ("1.0", "3.0"): (CompatibilityLevel.ADAPTER, "through 2.0"),
}


def compatibility(source: str, target: str) -> Compatibility:
    """Return whether a payload of version *source* can be handed to a target of version *target*.

    An unknown version is compatible with itself only.
    """
    sent, read = normal_version(source), normal_version(target)
    if sent == read:
        return Compatibility(CompatibilityLevel.YES, "same version")
    unlisted = (CompatibilityLevel.NO, f"{sent} cannot be converted to {read}")
    return Compatibility(*_MATRIX.get((sent, read), unlisted))


def normal_version(version: str) -> str:
    """Return *version* as the tables have it: ``v3``, ``3`` and ``3.0.1`` are all ``3.0``."""
    parts = version.strip().lower().removeprefix("v").split(".")
    major, minor = parts[0], parts[1] if len(parts) > 1 else "0"
    return f"{major}.{minor}" if major.isdecimal() and minor.isdecimal() else version.strip()
