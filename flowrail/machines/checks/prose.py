"""Checks of texts: steps, outcomes and commands that they mention must exist.

Only words in back quotes beside "step", "outcome" or "report", and commands, are checked. Fenced blocks are not,
except for ``flow:`` fences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flowrail.machines.checks.scope import Scope
from flowrail.machines.findings import UnplacedFinding
from flowrail.machines.outcome import DONE, REPORTABLE
from flowrail.machines.step import StepDef
from flowrail.machines.step_contents import instructions_of
from flowrail.text import phrases
from flowrail.text.placeholders import BLOCK_PREFIX, fences

_STEP = re.compile(r"\bsteps? `([A-Za-z][A-Za-z0-9_-]{0,63})`|`([A-Za-z][A-Za-z0-9_-]{0,63})` step\b")
_OUTCOME = re.compile(r"\b(?:outcome|[Rr]eport) `([a-z_]+)`")
_COMMAND = re.compile(r"\bflow step ([a-z0-9]+(?:[-/][a-z0-9]+)*) ([a-z]+)\b")
_FACTS = re.compile(r"\b[Rr]eport ((?:\*\*[a-z][a-z0-9_]*\*\*(?:,? and |, )?)+)")
_BOLD = re.compile(r"\*\*([a-z][a-z0-9_]*)\*\*")


def _texts(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    for text in instructions_of(step):
        prose = _without_fences(text.text)
        for code, word, problem, hint in (
            *_unknown_steps(prose, scope),
            *_unknown_outcomes(prose, step, scope),
            *_unknown_facts(prose, step, scope),
        ):
            yield UnplacedFinding(code, (*text.path, word), f"the text of step `{step.id}` {problem}", hint)


def _without_fences(text: str) -> str:
    """Return the lines of *text* that are not in a fence, or in a ``flow:`` fence."""
    hidden = {
        line for fence in fences(text) if not fence.info.startswith(BLOCK_PREFIX) for line in fence.lines
    }
    return "\n".join(line for number, line in enumerate(text.split("\n")) if number not in hidden)


_Mention = tuple[str, str, str, str]
"""A code, the word in the text, what is wrong, and what to write instead."""


def _unknown_steps(text: str, scope: Scope) -> Iterator[_Mention]:
    for name in dict.fromkeys(word for pair in _STEP.findall(text) for word in pair if word):
        if name not in scope.workflow:
            hint = scope.did_you_mean(name, scope.index, "name a step of this workflow")
            yield "FR166", f"`{name}`", f"mentions unknown step `{name}`", hint


def _unknown_outcomes(text: str, step: StepDef, scope: Scope) -> Iterator[_Mention]:
    run = [word for skill, word in _COMMAND.findall(text) if skill == scope.workflow.name]
    accepted = [DONE] if step.decides else list(map(str, step.transitions))
    for word in dict.fromkeys([*_OUTCOME.findall(text), *run]):
        is_known = word in accepted or word in step.transitions or word in step.reports
        if not is_known or (word in run and word not in accepted):
            is_outcome = word == DONE or word in REPORTABLE
            problem = "the step does not accept it" if is_outcome else "it is not an outcome"
            hint = phrases.did_you_mean(word, accepted, f"it takes {phrases.listed(accepted)}")
            yield "FR167", word, f"names `{word}`, but {problem}", hint


def _unknown_facts(text: str, step: StepDef, scope: Scope) -> Iterator[_Mention]:
    """Check the facts that a text asks for in bold letters. A handler may accept any fact."""
    asked = [name for names in _FACTS.findall(text) for name in _BOLD.findall(names)]
    for name in () if callable(step.handler) else dict.fromkeys(asked):
        if name not in step.reports:
            known = phrases.listed(step.reports) or "nothing"
            hint = scope.did_you_mean(name, step.reports, f"it takes {known}")
            yield "FR181", f"**{name}**", f"asks for **{name}**, which the step does not accept", hint


STEP_RULES = (_texts,)
