"""Steps, outcomes, facts and commands that instructions mention.

Only words in back quotes beside "step", "outcome", "report" or `flow run`, and words in bold after "report" are looked
at. Fenced blocks are not, except for ``flow:`` fences.
"""

from __future__ import annotations

import re

from flowrail.machines.checks.scope import Scope
from flowrail.machines.checks.table import Rows
from flowrail.machines.parts import Part
from flowrail.outcome import DONE, REPORTABLE
from flowrail.text import phrases
from flowrail.text.placeholders import BLOCK_PREFIX, fences

_STEP = re.compile(r"\bsteps? `([A-Za-z][A-Za-z0-9_-]{0,63})`|`([A-Za-z][A-Za-z0-9_-]{0,63})` step\b")
_OUTCOME = re.compile(r"\b(?:outcome|[Rr]eport) `([a-z_]+)`")
_FACTS = re.compile(r"\b[Rr]eport ((?:\*\*[a-z][a-z0-9_]*\*\*(?:,? and |, )?)+)")

_RUN = re.compile(r"`flow run ([a-z][a-z0-9_]*)[ `]")


def mentions(part: Part, scope: Scope) -> Rows:
    """Find what instructions mention and the workflow does not have."""
    if part.key not in {"actions", "variants"}:
        return
    step, text = part.step, _without_fences(part.value)
    owner = f"the text of step `{step.id}`"
    for name in dict.fromkeys(word for pair in _STEP.findall(text) for word in pair if word):
        if name not in scope.workflow:
            hint = scope.did_you_mean(name, scope.index, "name a step of this workflow")
            yield "FR166", f"`{name}`", f"{owner} mentions unknown step `{name}`", hint
    accepted = [DONE] if step.decides else list(map(str, step.transitions))
    for word in dict.fromkeys(_OUTCOME.findall(text)):
        if word not in {*accepted, *step.transitions, *step.reports}:
            is_outcome = word == DONE or word in REPORTABLE
            problem = "the step does not accept it" if is_outcome else "it is not an outcome"
            hint = phrases.did_you_mean(word, accepted, f"it takes {phrases.listed(accepted)}")
            yield "FR167", word, f"{owner} names `{word}`, but {problem}", hint
    asked = [name for names in _FACTS.findall(text) for name in re.findall(r"\w+", names) if name != "and"]
    for name in () if callable(step.handler) else dict.fromkeys(asked):  # a handler may accept any fact
        if name not in step.reports:
            hint = scope.did_you_mean(
                name, step.reports, f"it takes {phrases.listed(step.reports) or 'nothing'}"
            )
            yield "FR181", f"**{name}**", f"{owner} asks for **{name}**, which the step does not accept", hint
    for name in dict.fromkeys(_RUN.findall(text)):
        if name not in step.commands:
            hint = phrases.did_you_mean(name, step.commands, "declare it in the `commands` of the step")
            yield (
                "FR189",
                f"`flow run {name}",
                f"{owner} runs `{name}`, which is not a command of the step",
                hint,
            )


def _without_fences(text: str) -> str:
    """Return the lines of *text* that are not in a fence, or in a ``flow:`` fence."""
    hidden = {
        line for fence in fences(text) if not fence.info.startswith(BLOCK_PREFIX) for line in fence.lines
    }
    return "\n".join(line for number, line in enumerate(text.split("\n")) if number not in hidden)
