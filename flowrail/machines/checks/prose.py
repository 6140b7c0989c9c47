"""Checks of texts: steps, outcomes and commands that they mention must exist.

Only words in back quotes beside "step", "outcome" or "report", and
commands, are checked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.step import DONE, REPORTABLE, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.text import phrases

_STEP = re.compile(r"\bsteps? `([A-Za-z][A-Za-z0-9_-]{0,63})`|`([A-Za-z][A-Za-z0-9_-]{0,63})` step\b")
_OUTCOME = re.compile(r"\b(?:outcome|[Rr]eport) `([a-z_]+)`")
_COMMAND = re.compile(r"\bflow step ([a-z0-9]+(?:[-/][a-z0-9]+)*) ([a-z]+)\b")
_MARK = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_FACTS = re.compile(r"\b[Rr]eport ((?:\*\*[a-z][a-z0-9_]*\*\*(?:,? and |, )?)+)")
_BOLD = re.compile(r"\*\*([a-z][a-z0-9_]*)\*\*")
WORDS = frozenset({DONE, *(str(outcome) for outcome in REPORTABLE)})


def _texts(workflow: Workflow) -> Iterator[UnplacedFinding]:
    ids = dict.fromkeys(step.id for step in workflow.steps)
    guesses = phrases.Suggestions()
    for index, step in enumerate(workflow.steps):
        for path, text in _told(index, step):
            plain = _without_fences(text)
            yield from _steps(path, plain, step, ids, guesses)
            yield from _outcomes(path, plain, step, workflow.name)
            yield from _facts(path, plain, step, guesses)


def _without_fences(text: str) -> str:
    """Return *text* without fenced blocks, except for ``flow:`` fences. A fence that is never closed stays."""
    marks = [(found.start(), found.end(), found.group(1)) for found in _MARK.finditer(text)]
    longest = {"`": 0, "~": 0}
    closed: list[bool] = []
    for _, _, mark in reversed(marks):
        closed.append(longest[mark[0]] >= len(mark))
        longest[mark[0]] = max(longest[mark[0]], len(mark))
    closed.reverse()
    kept: list[str] = []
    done = number = 0
    while number < len(marks):
        start, end, mark = marks[number]
        if closed[number] and not text.startswith("flow:", end):
            kept.append(text[done:start])
            number = next(at for at in range(number + 1, len(marks)) if marks[at][2].startswith(mark))
            done = marks[number][1] - len(marks[number][2]) + len(mark)
        number += 1
    return "".join((*kept, text[done:]))


def _steps(
    path: Path, text: str, step: StepDef, ids: Collection[str], guesses: phrases.Suggestions
) -> Iterator[UnplacedFinding]:
    for name in dict.fromkeys(found for pair in _STEP.findall(text) for found in pair if found):
        if name not in ids:
            what = f"the text of step `{step.id}` mentions unknown step `{name}`"
            hint = guesses.did_you_mean(name, ids, "name a step of this workflow")
            yield UnplacedFinding("FR166", (*path, f"`{name}`"), what, hint)


def _outcomes(path: Path, text: str, step: StepDef, name: str) -> Iterator[UnplacedFinding]:
    run = [word for skill, word in _COMMAND.findall(text) if skill == name]
    here = [DONE] if step.decides else [str(outcome) for outcome in step.ways]
    decided = {str(outcome) for outcome in step.ways} if step.decides else set()
    for word in dict.fromkeys([*_OUTCOME.findall(text), *run]):
        if word not in {*here, *decided, *step.reports} or (word in run and word not in here):
            known = "the step does not accept it" if word in WORDS else "it is not an outcome"
            what = f"the text of step `{step.id}` names `{word}`, but {known}"
            hint = phrases.did_you_mean(word, here, f"it takes {phrases.listed(here)}")
            yield UnplacedFinding("FR167", (*path, word), what, hint)


def _facts(path: Path, text: str, step: StepDef, guesses: phrases.Suggestions) -> Iterator[UnplacedFinding]:
    """Check the facts that a text asks for in bold letters."""
    if callable(step.handler):
        return  # what it takes is its own affair
    asked = [name for names in _FACTS.findall(text) for name in _BOLD.findall(names)]
    for name in dict.fromkeys(asked):
        if name not in step.reports:
            what = f"the text of step `{step.id}` asks for **{name}**, which the step does not accept"
            known = phrases.listed(step.reports) or "nothing"
            hint = guesses.did_you_mean(name, step.reports, f"it takes {known}")
            yield UnplacedFinding("FR181", (*path, f"**{name}**"), what, hint)


def _told(index: int, step: StepDef) -> Iterator[tuple[Path, str]]:
    if not callable(step.actions):
        for at, text in enumerate(step.actions):
            yield ("steps", index, "actions", at), str(text)
    for at, variant in enumerate(step.variants):
        for text in variant.actions:
            yield ("steps", index, "variants", at, "text"), str(text)


WORD_RULES = (_texts,)
