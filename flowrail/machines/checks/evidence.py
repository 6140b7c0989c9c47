"""Warnings about evidence that proves little: it passes without the work being done."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence

from flowrail.machines.definition.contents import instructions_of
from flowrail.machines.definition.evidence import EvidenceCheck, Level
from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.validation.scope import Scope
from flowrail.text.phrases import listed
from flowrail.text.placeholders import fences

_ALWAYS = frozenset({"true", ":", "echo", "printf", "exit", "test", "pwd", "ls", "sleep", "cat"})
"""Commands that always succeed, or that do not look at the work."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_WRAPPERS = frozenset({"env", "command", "nice", "nohup", "time"})
_ANNOTATIONS = frozenset({"$schema", "$id", "title", "description", "type", "examples", "$comment"})
"""Keys of a JSON Schema that accept any document of a type."""


def _weak(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    lists: list[tuple[Path, Sequence[EvidenceCheck]]] = [
        (("evidence", outcome), checks) for outcome, checks in step.evidence.items()
    ]
    if step.work is not None:
        lists.append((("dispatch", "evidence"), step.work.evidence))
    blocks = [fence.body(text.text) for text in instructions_of(step) for fence in fences(text.text)]
    templates = [*blocks, *scope.workflow.resources.values()]  # what an agent can copy
    for path, checks in lists:
        for position, check in enumerate(checks):
            for problem, remedy in (*_of_files(check, templates), *_of_commands(check), *_of_others(check)):
                message = f"check `{check.id}` of step `{step.id}` proves little: {problem}"
                yield UnplacedFinding("FR184", (*path, position), message, remedy)


def _of_files(check: EvidenceCheck, templates: list[str]) -> Iterator[tuple[str, str]]:
    if check.file is None and check.files is None:
        return
    looks_inside = check.citations or check.diffs
    if not (check.changed or check.min_bytes > 1 or check.contains or looks_inside or check.at_least > 1):
        yield "any file passes, also one that was there before", "add `changed`, `contains` or `min_bytes`"
    elif check.contains and not looks_inside:
        for template in templates:
            if len(template.encode()) >= check.min_bytes and all(text in template for text in check.contains):
                remedy = (
                    "ask for `min_bytes` above the size of the template, or for text that it does not contain"
                )
                yield "a copy of the template in the instructions passes", remedy
                return


def _of_commands(check: EvidenceCheck) -> Iterator[tuple[str, str]]:
    if not check.run:
        return
    words = [os.path.basename(word) for word in check.run]
    while len(words) > 1 and (words[0] in _WRAPPERS or "=" in words[0]):
        words = words[1:]
    if words[0] in _ALWAYS:
        yield f"`{words[0]}` succeeds without the work", "run a command that looks at the work"
    elif words[0] in _SHELLS and any(word.startswith("-") and "c" in word for word in words[1:]):
        yield "a shell hides what is run, and its last command decides", "name the program and its arguments"
    if check.lowest_level is Level.CLAIMED:
        yield "the agent's word is enough", "use `level: observed` or higher"
    empty = [pattern for pattern in check.output if re.search(pattern, "")]
    if empty:
        yield f"{listed(empty)} matches an empty output", "ask for text that only success prints"


def _of_others(check: EvidenceCheck) -> Iterator[tuple[str, str]]:
    if check.json is not None and json.loads(check.schema).keys() <= _ANNOTATIONS:
        yield "its schema accepts any document", "add `required` and `properties`"
    if check.git is not None and check.git.changed_at_least == 0 and not check.git.within:
        yield "no change at all passes", "ask for `changed_at_least: 1`, or for `within`"


STEP_RULES = (_weak,)
