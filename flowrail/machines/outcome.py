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


REPORTABLE = (Outcome.OK, Outcome.FAIL, Outcome.SKIP, Outcome.ITERATE)
Reportable: TypeAlias = Literal["ok", "fail", "skip", "iterate"]
"""An outcome that a step can have."""
DONE = "done"
"""The word that an agent reports if the step itself decides the outcome."""
