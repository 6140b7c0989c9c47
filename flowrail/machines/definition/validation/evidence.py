"""Errors in the evidence that steps demand."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from flowrail.machines.definition.evidence import CHECK_ID, CONDITIONS, KINDS, EvidenceCheck, Level
from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.parts import is_default, keys_of
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.validation.scope import Scope
from flowrail.text import phrases

LONGEST_PATTERN = 500
MOST_CHECKS = 50
_RECORDS = {"review": "submitted", "findings": "resolved"}


class CheckProblem(NamedTuple):
    """A problem of a check: the key, the message, and what to write instead."""

    key: str
    message: str
    remedy: str


def _evidence(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    earlier: dict[str, EvidenceCheck] = {}
    for outcome, checks in step.evidence.items():
        path = ("evidence", outcome)
        if outcome not in step.transitions:
            message = f"step `{step.id}` demands evidence for `{outcome}`, which it does not accept"
            remedy = phrases.did_you_mean(outcome, map(str, step.transitions), "name an outcome of `next`")
            yield UnplacedFinding("FR157", path, message, remedy)
        if not checks or len(checks) > MOST_CHECKS:
            message = f"step `{step.id}` has {len(checks)} checks for `{outcome}`"
            yield UnplacedFinding("FR157", path, message, f"list 1 to {MOST_CHECKS}")
        yield from _checks(step, path, checks, (), scope)
        for position, check in enumerate(checks):
            if earlier.get(check.id, check) != check:
                message = f"check `{check.id}` of step `{step.id}` differs from the one of another outcome"
                yield UnplacedFinding("FR157", (*path, position, "id"), message, "give it another id")
        earlier |= {check.id: check for check in checks}


def _dispatch_evidence(step: StepDef, scope: Scope) -> Iterator[UnplacedFinding]:
    work = step.work
    if work is None or not work.evidence:
        return
    path = ("dispatch", "evidence")
    if work.run is not None:
        message = f"step `{step.id}` demands evidence of a dispatch that runs a workflow"
        yield UnplacedFinding("FR157", path, message, "write it at the steps of that workflow")
    for position, check in enumerate(work.evidence):
        if check.run:
            message = f"check `{check.id}` of step `{step.id}` runs a command, which a dispatch cannot demand"
            remedy = "let the agent run a workflow with a step that demands it"
            yield UnplacedFinding("FR157", (*path, position, "run"), message, remedy)
    yield from _checks(step, path, work.evidence, {"item", *work.context_vars}, scope)


def _checks(
    step: StepDef, path: Path, checks: Sequence[EvidenceCheck], names: Collection[str], scope: Scope
) -> Iterator[UnplacedFinding]:
    ids: set[str] = set()
    for position, check in enumerate(checks):
        problems = [*_problems(check, names, scope)]
        if check.id in ids:
            problems.append(CheckProblem("id", "is not the first with its id", "give it another id"))
        ids.add(check.id)
        for key, problem, remedy in problems:
            problem_path = (*path, position, key) if key else (*path, position)
            message = f"check `{check.id}` of step `{step.id}` {problem}"
            yield UnplacedFinding("FR157", problem_path, message, remedy)


def _problems(check: EvidenceCheck, names: Collection[str], scope: Scope) -> Iterator[CheckProblem]:
    if not CHECK_ID.match(check.id):
        remedy = "start with a lower-case letter; use letters, digits and `_`, at most 32"
        yield CheckProblem("id", "has an invalid id", remedy)
    if len(check.kinds) != 1:
        message = f"has {phrases.listed(check.kinds)}" if check.kinds else "looks at nothing"
        yield CheckProblem("", message, f"give exactly one of {phrases.listed(KINDS)}")
        return
    kind = check.kind
    if check.level is not None and not check.run and Level(check.level).rank < Level.CHECKED.rank:
        message = f"has the level `{check.level}`, but `{kind}` is always checked"
        yield CheckProblem("level", message, "remove `level`, or use `approved`")
    conditions = CONDITIONS[kind]
    fitting = {"id", "level", "known_bad", kind, *conditions}
    for name, declared in keys_of(EvidenceCheck).items():
        if name not in fitting and not is_default(declared, getattr(check, declared.field)):
            remedy = f"remove it; with `{kind}` use {phrases.listed(sorted(conditions)) or 'nothing else'}"
            yield CheckProblem(name, f"has `{name}`, which does not fit `{kind}`", remedy)
    yield from _paths(check, names, scope)
    if check.json:
        yield from _schema(check)
    if check.run:
        yield from _command(check)
    for name, value in check.records.items():
        if _RECORDS.get(name) != value:
            known = [f"{known}: {wanted}" for known, wanted in _RECORDS.items()]
            message = f"asks for the unknown record `{name}: {value}`"
            yield CheckProblem("records", message, f"use {phrases.listed(known)}")


def _paths(check: EvidenceCheck, names: Collection[str], scope: Scope) -> Iterator[CheckProblem]:
    paths = [
        *((key, getattr(check, key)) for key in ("file", "files", "json") if getattr(check, key)),
        *(("git", path) for path in (check.git.within if check.git is not None else ())),
        *((key, path) for key in ("reads", "known_bad") for path in getattr(check, key)),
    ]
    for key, path in paths:
        is_outside = path.startswith("/") or ".." in path.split("/")
        if not path or is_outside or "\0" in path or len(path) > LONGEST_PATTERN:
            remedy = "use a path relative to the project, without `..`"
            yield CheckProblem(key, f"has the path `{path[:80]}`", remedy)
    for key, text in (*paths, *(("contains", text) for text in check.contains)):
        for name in scope.undeclared(text, names):
            yield CheckProblem(key, f"has `${name}`, which is not declared", scope.hint(name, names))
    if not all(text.strip() for text in check.contains):
        yield CheckProblem("contains", "looks for an empty text", "give a text that the file must contain")


def _schema(check: EvidenceCheck) -> Iterator[CheckProblem]:
    if not check.schema:
        remedy = "name a file of the skill that contains a JSON Schema"
        yield CheckProblem("schema", "has no `schema`", remedy)
        return
    try:
        schema = json.loads(check.schema)
    except (ValueError, RecursionError) as error:
        yield CheckProblem("schema", f"has a schema that is not JSON ({error})", "fix the file")
        return
    if not isinstance(schema, dict):
        yield CheckProblem("schema", "has a schema that is not an object", "write a JSON Schema")


def _command(check: EvidenceCheck) -> Iterator[CheckProblem]:
    if not all(word and "\0" not in word for word in check.run):
        remedy = "list the command and its arguments as texts"
        yield CheckProblem("run", "has an empty word in its command", remedy)
    elif len(check.run) == 1 and " " in check.run[0]:
        yield CheckProblem("run", f"runs `{check.run[0][:60]}` as one word", "list its words: `[pytest, -q]`")
    for pattern in check.output:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            yield CheckProblem("output", f"has an invalid regular expression ({error})", "fix the expression")


STEP_RULES = (_evidence, _dispatch_evidence)
