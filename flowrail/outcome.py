"""The results of a step."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias


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


class OutcomeMeaning(NamedTuple):
    """What an outcome means."""

    style: str = ""
    """The style in which reports, pages and drawings show it: a value of `flowrail.text.report.Style`."""
    at_limit: Literal["", "ok", "ask"] = ""
    """What happens at the limit of the step if the outcome leads back: take `ok`, ask the user, or, if empty, nothing."""


OUTCOMES: dict[Outcome, OutcomeMeaning] = {
    Outcome.OK: OutcomeMeaning("good"),
    Outcome.FAIL: OutcomeMeaning("bad", at_limit="ask"),
    Outcome.SKIP: OutcomeMeaning(),
    Outcome.ITERATE: OutcomeMeaning("warning", at_limit="ok"),
}
REPORTABLE: tuple[Outcome, ...] = tuple(OUTCOMES)
LISTED = ", ".join(f"`{outcome}`" for outcome in REPORTABLE)
"""The outcomes that a step can have, as a text lists them."""
STYLES = {str(outcome): meaning.style for outcome, meaning in OUTCOMES.items() if meaning.style}
GOVERNED = tuple(outcome for outcome, meaning in OUTCOMES.items() if meaning.at_limit)
"""The outcomes that a limit governs if they lead back to its step."""
OK_AT_LIMIT = frozenset(outcome for outcome, meaning in OUTCOMES.items() if meaning.at_limit == "ok")
DONE = "done"
"""The word that an agent reports if the step itself decides the outcome."""
