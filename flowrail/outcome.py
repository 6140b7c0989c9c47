"""The results of a step."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias


class Outcome(StrEnum):
    """The result of a step.

    ``DEFAULT`` is the transition of every outcome that a step does not name. It is never reported.
    """

    OK = "ok"
    FAIL = "fail"
    SKIP = "skip"
    ITERATE = "iterate"
    DEFAULT = "_default"


Reportable: TypeAlias = Literal["ok", "fail", "skip", "iterate"]
"""An outcome that a step can have."""
REPORTABLE: tuple[Outcome, ...] = tuple(outcome for outcome in Outcome if outcome is not Outcome.DEFAULT)
DONE = "done"
"""The word that an agent reports if the step itself decides the outcome."""


def list_outcomes(before_last: str = ", ", *, quote: str = "`") -> str:
    """Return the outcomes that a step can have, as a text lists them; *before_last* precedes the last one."""
    *others, last = (f"{quote}{outcome}{quote}" for outcome in REPORTABLE)
    return f"{', '.join(others)}{before_last}{last}"
