"""The refusal of a name that a user gave and that nothing has: it suggests similar ones, or lists what there is."""

from __future__ import annotations

from collections.abc import Iterable

from flowrail.command import Hint
from flowrail.errors import UsageError
from flowrail.text.phrases import did_you_mean, listed

LONGEST_NAME = 80
"""Characters of a name that a refusal shows."""


def unknown(
    what: str, name: str, known: Iterable[str], *, code: str = "USAGE", otherwise: str | Hint = ""
) -> UsageError:
    """Return the refusal of the unknown *name* of a thing; *otherwise* is the hint if no known name is similar."""
    names, shown = list(known), name[:LONGEST_NAME]
    usual = otherwise or (f"use one of {listed(names)}" if names else "none is declared here")
    hint = did_you_mean(shown, names, usual)
    return UsageError(f"unknown {what} `{shown}`", code=code, hint=hint, name=shown, known=names)
