"""Warnings about evidence that proves little: it passes without the work being done."""

from __future__ import annotations

import os
from collections.abc import Iterator

from flowrail.machines.definition.contents import instructions_of
from flowrail.machines.definition.evidence import Evidence, StepCommand
from flowrail.machines.definition.findings import UnplacedFinding
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.validation.scope import Scope
from flowrail.rules.tools import ToolUse, forbidding
from flowrail.text.placeholders import fences

_ALWAYS = frozenset({"true", ":", "echo", "printf", "exit", "test", "pwd", "ls", "sleep", "cat"})
"""Commands that always succeed, or that do not look at the work."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_WRAPPERS = frozenset({"env", "command", "nice", "nohup", "time"})


def _weak(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    blocks = [fence.body(text.text) for text in instructions_of(step) for fence in fences(text.text)]
    templates = [*blocks, *scope.workflow.resources.values()]  # what an agent can copy
    for outcome, checks in step.evidence.items():
        for position, check in enumerate(checks):
            command = step.commands.get(check.command or "")
            for problem, remedy in (
                *_of_files(check, templates),
                *(_of_commands(command) if command else ()),
            ):
                message = f"check `{check.id}` of step `{step.id}` proves little: {problem}"
                yield UnplacedFinding("FR184", ("evidence", outcome, position), message, remedy)


def _of_files(check: Evidence, templates: list[str]) -> Iterator[tuple[str, str]]:
    if check.file is None and check.files is None:
        return
    if not (check.changed or check.min_bytes > 1 or check.contains or check.citations or check.at_least > 1):
        yield "any file passes, also one that was there before", "add `changed`, `contains` or `min_bytes`"
    elif check.contains and not check.citations:
        for template in templates:
            if len(template.encode()) >= check.min_bytes and all(text in template for text in check.contains):
                remedy = (
                    "ask for `min_bytes` above the size of the template, or for text that it does not contain"
                )
                yield "a copy of the template in the instructions passes", remedy
                return


def _of_commands(command: StepCommand) -> Iterator[tuple[str, str]]:
    words = [os.path.basename(word) for word in command.run]
    while len(words) > 1 and (words[0] in _WRAPPERS or "=" in words[0]):
        words = words[1:]
    if words[0] in _ALWAYS:
        yield f"`{words[0]}` succeeds without the work", "run a command that looks at the work"
    elif words[0] in _SHELLS and any(word.startswith("-") and "c" in word for word in words[1:]):
        yield "a shell hides what is run, and its last command decides", "name the program and its arguments"


def _impossible(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    """Find files that must change although the step forbids to change them. A session's own files may always change."""
    for outcome, checks in step.evidence.items():
        for position, check in enumerate(checks):
            path = check.file or check.files or ""
            if not check.changed or path.startswith("$") or "*" in path:
                continue
            edit = ToolUse("Edit", {"file_path": path}, cwd="/project", project="/project", home="/home")
            rule = forbidding(step.forbids, edit)
            if rule is not None:
                message = f"check `{check.id}` of step `{step.id}` wants `{path}` to change, and `forbids` has `{rule}`"
                remedy = "forbid less, or ask for a file in `$work`"
                yield UnplacedFinding("FR186", ("evidence", outcome, position), message, remedy)


STEP_RULES = (_weak, _impossible)
