"""The evidence of steps, their commands, and facts that come from commands: errors, and evidence that proves little."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from flowrail.machines.checks.scope import Scope
from flowrail.machines.demanded_evidence import KINDS, PER_ATTEMPT, CommandFact, Evidence, StepCommand
from flowrail.machines.findings import Path, UnplacedFinding
from flowrail.machines.step import StepDef
from flowrail.machines.step_contents import instructions_of
from flowrail.rules.tools import ToolUse, forbidding
from flowrail.text import phrases, placeholders
from flowrail.text.placeholders import fences

LONGEST_PATTERN = 500
MOST_CHECKS = 50
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
_NAMES = "start with a lower-case letter; use letters, digits and `_`, at most 32"
_HEADING = re.compile(r"#{1,6} +\S")
_CONDITIONS: Mapping[str, object] = {
    "changed": False,
    "contains": (),
    "min_bytes": 1,
    "section": None,
    "items": None,
    "covers": None,
    "citations": False,
    "at_least": 1,
}
"""The conditions of files, with their defaults."""


def _evidence(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    earlier: dict[str, Evidence] = {}
    for outcome, checks in step.evidence.items():
        path = ("evidence", outcome)
        if outcome not in step.transitions:
            message = f"step `{step.id}` demands evidence for `{outcome}`, which it does not accept"
            remedy = phrases.did_you_mean(outcome, map(str, step.transitions), "name an outcome of `next`")
            yield UnplacedFinding("FR157", path, message, remedy)
        if not checks or len(checks) > MOST_CHECKS:
            message = f"step `{step.id}` has {len(checks)} checks for `{outcome}`"
            yield UnplacedFinding("FR157", path, message, f"list 1 to {MOST_CHECKS}")
        ids: set[str] = set()
        for position, check in enumerate(checks):
            for key, problem, remedy in _problems(check, step, scope):
                problem_path: Path = (*path, position, key) if key else (*path, position)
                message = f"check `{check.id}` of step `{step.id}` {problem}"
                yield UnplacedFinding("FR157", problem_path, message, remedy)
            if check.id in ids or earlier.get(check.id, check) != check:
                problem = (
                    "is not the first with its id"
                    if check.id in ids
                    else "differs from the one of another outcome"
                )
                message = f"check `{check.id}` of step `{step.id}` {problem}"
                yield UnplacedFinding("FR157", (*path, position, "id"), message, "give it another id")
            ids.add(check.id)
        earlier |= {check.id: check for check in checks}


def _problems(check: Evidence, step: StepDef, scope: Scope) -> Iterator[tuple[str, str, str]]:
    """Yield the problems of a check: the key, the message, and what to write instead."""
    if not _NAME.match(check.id):
        yield "id", "has an invalid id", _NAMES
    if len(check.kinds) != 1:
        message = f"has {phrases.listed(check.kinds)}" if check.kinds else "looks at nothing"
        yield "", message, f"give exactly one of {phrases.listed(KINDS)}"
        return
    kind = check.kind
    for name, default in _CONDITIONS.items():
        counts = kind == "files" or check.citations or check.items
        fits = kind in {"file", "files"} and (name != "at_least" or counts)
        if getattr(check, name) != default and not fits:
            yield name, f"has `{name}`, which does not fit `{kind}`", "remove it"
    if check.command is not None and check.command not in step.commands:
        remedy = phrases.did_you_mean(
            check.command, step.commands, "declare it in the `commands` of the step"
        )
        yield "command", f"names the unknown command `{check.command[:60]}`", remedy
    yield from _part_problems(check)
    paths = [check.file or check.files] if kind in {"file", "files"} else []
    yield from _path_problems(kind, paths)
    texts = [*((kind, path) for path in paths), *(("contains", text) for text in check.contains)]
    texts += [("covers", check.covers)] if check.covers else []
    for key, text in (*texts, *([("person", check.person)] if check.person else [])):
        for name in scope.undeclared(text or ""):
            yield key, f"has `${name}`, which is not declared", scope.hint(name)
    if not all(text.strip() for text in check.contains):
        yield "contains", "looks for an empty text", "give a text that the file must contain"
    if check.person is not None and not check.person.strip():
        yield "person", "does not say what to confirm", "write what the person confirms"


def _part_problems(check: Evidence) -> Iterator[tuple[str, str, str]]:
    if check.items is not None and not re.fullmatch("[A-Z]", check.items):
        yield "items", f"has items `{check.items[:20]}`", "give one capital letter, such as E for E1, E2"
    if check.section is not None and not _HEADING.match(check.section):
        yield "section", f"has the section `{check.section[:60]}`", "write a heading, such as `## Evidence`"
    if check.covers is not None and not _HEADING.match(check.covers):
        yield from _path_problems("covers", [check.covers])


def _path_problems(key: str, paths: Sequence[str | None]) -> Iterator[tuple[str, str, str]]:
    for path in paths:
        is_outside = not path or path.startswith("/") or ".." in path.split("/")
        if is_outside or "\0" in str(path) or len(str(path)) > LONGEST_PATTERN:
            yield (
                key,
                f"has the path `{str(path or '')[:80]}`",
                "use a path relative to the project, without `..`",
            )


def _commands(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    for name, command in step.commands.items():
        if not _NAME.match(name):
            message = f"`{name[:60]}` is not a valid name for a command"
            yield UnplacedFinding("FR159", ("commands", name), message, _NAMES)
        for key, problem, remedy in _command_problems(command, scope):
            message = f"command `{name}` of step `{step.id}` {problem}"
            yield UnplacedFinding("FR159", ("commands", name, *key), message, remedy)


def _command_problems(command: StepCommand, scope: Scope) -> Iterator[tuple[Path, str, str]]:
    run = command.run
    if not run or not all(word and "\0" not in word for word in run):
        yield ("run",), "has an empty word", "list the program and its arguments as texts"
    elif len(run) == 1 and " " in run[0]:
        yield ("run",), f"runs `{run[0][:60]}` as one word", "list its words: `[pytest, -q]`"
    elif placeholders.placeholders(run[0]) or run[0].startswith("-"):
        yield ("run",), f"runs `{run[0][:60]}`", "name the program; only arguments can be placeholders"
    for word in run:
        for name in scope.undeclared(word):
            yield ("run",), f"has `${name}`, which is not declared", scope.hint(name)
    if not (isinstance(command.once, bool) or command.once == PER_ATTEMPT):
        yield ("once",), f"has `once: {command.once}`", f"write true, false or {PER_ATTEMPT}"
    for key, problem, remedy in _path_problems("reads", command.reads):
        yield (key,), problem, remedy
    for fact, found in command.facts.items():
        yield from _fact_problems(fact, found)


def _fact_problems(fact: str, found: CommandFact) -> Iterator[tuple[Path, str, str]]:
    if not _NAME.match(fact):
        yield ("facts", fact), f"has a fact with the invalid name `{fact[:60]}`", _NAMES
    try:
        groups = re.compile(found.match).groups
    except (re.error, RecursionError, OverflowError) as error:
        yield ("facts", fact, "match"), f"has an invalid regular expression ({error})", "fix the expression"
        return
    if groups > 1:
        remedy = "keep one pair of parentheses, and write the others as `(?:…)`"
        yield ("facts", fact, "match"), f"has a pattern with {groups} groups", remedy


def _sources(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    known = [f"{name}.{fact}" for name, command in step.commands.items() for fact in command.facts]
    for name, arg in step.reports.items():
        if arg.source is not None and arg.source not in known:
            message = (
                f"fact `{name}` of step `{step.id}` comes from `{arg.source[:60]}`, which no command has"
            )
            remedy = phrases.did_you_mean(
                arg.source, known, "write COMMAND.FACT, both declared in `commands`"
            )
            yield UnplacedFinding("FR159", ("reports", name, "from"), message, remedy)


def _params(scope: Scope) -> Iterator[UnplacedFinding]:
    for name, arg in scope.workflow.params.items():
        if arg.source is not None:
            message = f"parameter `{name}` has `from`, which only facts have"
            yield UnplacedFinding("FR159", ("params", name, "from"), message, "remove it")


WORKFLOW_RULES = (_params,)
STEP_RULES = (_evidence, _commands, _sources)


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
    looks_inside = check.contains or check.section or check.items or check.covers or check.citations
    if not (check.changed or check.min_bytes > 1 or looks_inside or check.at_least > 1):
        yield "any file passes, also one that was there before", "add `changed`, `contains` or `section`"
    elif check.contains and not (check.citations or check.covers):
        texts = [*check.contains, *([check.section] if check.section else [])]
        for template in templates:
            if len(template.encode()) >= check.min_bytes and all(text in template for text in texts):
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
                yield UnplacedFinding("FR186", ("evidence", outcome, position), message)


STEP_WARNINGS = (_weak, _impossible)
