"""Errors in the evidence that steps demand."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from flowrail.machines.definition.evidence import CHECK_ID, CONDITIONS, KINDS, EvidenceCheck, Level
from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.parts import is_default, keys_of
from flowrail.machines.definition.step import REPORTABLE, TEXT_NAMES, Outcome, StepDef
from flowrail.machines.definition.step_parts import Dispatch
from flowrail.text import phrases, placeholders

if TYPE_CHECKING:
    from flowrail.machines.definition.workflow import Workflow

FILES_OF_THE_SESSION = frozenset({"notes", "work"})
"""Placeholders for the session's own files, which a path may begin with."""
LONGEST_PATTERN = 500
MOST_CHECKS = 50
_RECORDS = {"review": "submitted", "findings": "resolved"}


class CheckProblem(NamedTuple):
    """What is wrong with a check: the key, the problem, and what to write instead."""

    key: str
    what: str
    remedy: str


def _evidence(workflow: Workflow) -> Iterator[UnplacedFinding]:
    known = {*workflow.params, *(name for step in workflow.steps for name in step.reports)}
    has_code = any(callable(step.handler) for step in workflow.steps)
    for index, step in enumerate(workflow.steps):
        if step.work is not None and step.work.evidence:
            names = (
                None
                if has_code
                else known | {*TEXT_NAMES, *FILES_OF_THE_SESSION, "item", *step.work.context_vars}
            )
            yield from _of_dispatch(index, step, step.work, names)
        if not step.evidence:
            continue
        path: Path = ("steps", index, "evidence")
        yield from _outcomes(path, step)
        first: dict[str, EvidenceCheck] = {}
        for outcome, checks in step.evidence.items():
            seen: set[str] = set()
            for position, check in enumerate(checks):
                at = (*path, outcome, position)
                if check.id in seen or first.setdefault(check.id, check) != check:
                    what = f"step `{step.id}` has two checks with the id `{check.id}`"
                    yield UnplacedFinding("FR157", (*at, "id"), what, "give one of them another id", step.id)
                seen.add(check.id)
                names = None if has_code else known | TEXT_NAMES | FILES_OF_THE_SESSION
                for problem in problems_in(check, names):
                    what = f"check `{check.id}` of step `{step.id}` {problem.what}"
                    yield UnplacedFinding(
                        "FR157", (*at, problem.key) if problem.key else at, what, problem.remedy, step.id
                    )


def _of_dispatch(
    index: int, step: StepDef, work: Dispatch, names: Collection[str] | None
) -> Iterator[UnplacedFinding]:
    path: Path = ("steps", index, "dispatch", "evidence")
    if work.run is not None:
        what = f"step `{step.id}` demands evidence of a dispatch that runs a workflow"
        yield UnplacedFinding("FR157", path, what, "write it at the steps of that workflow", step.id)
    seen: set[str] = set()
    for position, check in enumerate(work.evidence):
        problems = [*problems_in(check, names)]
        if check.run:
            remedy = "let the agent run a workflow with a step that demands it"
            problems.append(CheckProblem("run", "runs a command, which a dispatch cannot demand", remedy))
        if check.id in seen:
            problems.append(CheckProblem("id", "is not the first with its id", "give it another id"))
        seen.add(check.id)
        for problem in problems:
            at = (*path, position, problem.key) if problem.key else (*path, position)
            what = f"check `{check.id}` of step `{step.id}` {problem.what}"
            yield UnplacedFinding("FR157", at, what, problem.remedy, step.id)


def _outcomes(path: Path, step: StepDef) -> Iterator[UnplacedFinding]:
    for outcome, checks in step.evidence.items():
        if outcome not in {str(way) for way in REPORTABLE} or Outcome(outcome) not in step.ways:
            what = f"step `{step.id}` demands evidence for `{outcome}`, which it does not accept"
            remedy = phrases.did_you_mean(outcome, map(str, step.ways), "name an outcome of `next`")
            yield UnplacedFinding("FR157", (*path, outcome), what, remedy, step.id)
        if not checks or len(checks) > MOST_CHECKS:
            what = f"step `{step.id}` has {len(checks)} checks for `{outcome}`"
            yield UnplacedFinding("FR157", (*path, outcome), what, f"list 1 to {MOST_CHECKS}", step.id)
    if not isinstance(step.tries, int) or step.tries < 1:
        what = f"`tries` of step `{step.id}` is `{step.tries}`"
        yield UnplacedFinding("FR157", (*path[:2], "tries"), what, "use a whole number from 1", step.id)


def problems_in(check: EvidenceCheck, names: Collection[str] | None) -> Iterator[CheckProblem]:
    """Yield what is wrong with one check. Its paths may use *names*, or any if `None`."""
    if not CHECK_ID.match(check.id):
        yield CheckProblem(
            "id",
            "has an invalid id",
            "start with a lower-case letter; use letters, digits and `_`, at most 32",
        )
    if len(check.kinds) != 1:
        found = f"has {phrases.listed(check.kinds)}" if check.kinds else "looks at nothing"
        yield CheckProblem("", found, f"give exactly one of {phrases.listed(KINDS)}")
        return
    if check.level is not None:
        yield from _level(check)
    fitting = {"id", "level", "known_bad", check.kind, *CONDITIONS[check.kind]}
    for name, declared in keys_of(EvidenceCheck).items():
        if name not in fitting and not is_default(declared, getattr(check, declared.field)):
            remedy = f"remove it; with `{check.kind}` use {phrases.listed(sorted(CONDITIONS[check.kind])) or 'nothing else'}"
            yield CheckProblem(name, f"has `{name}`, which does not fit `{check.kind}`", remedy)
    yield from _numbers(check)
    yield from _paths(check, names)
    if check.json:
        yield from _schema(check)
    if check.run:
        yield from _command(check)
    for name, value in check.records.items():
        if _RECORDS.get(name) != value:
            known = [f"{known}: {wanted}" for known, wanted in _RECORDS.items()]
            yield CheckProblem(
                "records", f"asks for the unknown record `{name}: {value}`", f"use {phrases.listed(known)}"
            )


def _level(check: EvidenceCheck) -> Iterator[CheckProblem]:
    levels = [str(level) for level in Level]
    if check.level not in levels:
        remedy = phrases.did_you_mean(str(check.level), levels, f"use one of {phrases.listed(levels)}")
        yield CheckProblem("level", f"has the unknown level `{check.level}`", remedy)
    elif not check.run and Level(str(check.level)).rank < Level.CHECKED.rank:
        what = f"has the level `{check.level}`, but `{check.kind}` is always checked"
        yield CheckProblem("level", what, "remove `level`, or use `approved`")


def _numbers(check: EvidenceCheck) -> Iterator[CheckProblem]:
    for name in ("min_bytes", "at_least"):
        value = getattr(check, name)
        if not isinstance(value, int) or value < 1:
            yield CheckProblem(name, f"has `{name}: {value}`", "use a whole number from 1")
    if not isinstance(check.timeout, (int, float)) or check.timeout <= 0:
        yield CheckProblem(
            "timeout", f"has `timeout: {check.timeout}`", "give the seconds as a number above 0"
        )
    if check.since not in {"first", "entry"}:
        yield CheckProblem("since", f"has `since: {check.since}`", "use `first` or `entry`")
    if check.git is not None and (
        not isinstance(check.git.changed_at_least, int) or check.git.changed_at_least < 0
    ):
        what = f"has `changed_at_least: {check.git.changed_at_least}`"
        yield CheckProblem("git", what, "use a whole number from 0")


def _unknown(key: str, text: str, names: Collection[str] | None) -> Iterator[CheckProblem]:
    for name in sorted(placeholders.placeholders(text).difference(names)) if names is not None else []:
        remedy = phrases.did_you_mean(name, names or (), "declare it in `params` or `reports`")
        yield CheckProblem(key, f"has `${name}`, unknown here", remedy)


def _paths(check: EvidenceCheck, names: Collection[str] | None) -> Iterator[CheckProblem]:
    within = check.git.within if check.git is not None else ()
    named = {"file": check.file, "files": check.files, "json": check.json}
    paths = [(key, path) for key, path in named.items() if path is not None]
    paths += [("git", path) for path in within] + [("reads", path) for path in check.reads]
    paths += [("known_bad", path) for path in check.known_bad]
    for key, path in paths:
        if (
            not path
            or path.startswith("/")
            or ".." in path.split("/")
            or "\0" in path
            or len(path) > LONGEST_PATTERN
        ):
            yield CheckProblem(
                key, f"has the path `{path[:80]}`", "use a path relative to the project, without `..`"
            )
        yield from _unknown(key, path, names)
    for text in check.contains:
        if isinstance(text, str):
            yield from _unknown("contains", text, names)
        if not isinstance(text, str) or not text.strip():
            yield CheckProblem(
                "contains", "looks for an empty text", "give a text that the file must contain"
            )


def _schema(check: EvidenceCheck) -> Iterator[CheckProblem]:
    if not check.schema:
        yield CheckProblem(
            "schema", "has no `schema`", "name a file of the skill that contains a JSON Schema"
        )
        return
    try:
        schema = json.loads(check.schema)
    except (ValueError, RecursionError) as error:
        yield CheckProblem("schema", f"has a schema that is not JSON ({error})", "fix the file")
        return
    if not isinstance(schema, dict):
        yield CheckProblem("schema", "has a schema that is not an object", "write a JSON Schema")


def _command(check: EvidenceCheck) -> Iterator[CheckProblem]:
    if not all(isinstance(word, str) and word and "\0" not in word for word in check.run):
        yield CheckProblem(
            "run", "has an empty word in its command", "list the command and its arguments as texts"
        )
    elif len(check.run) == 1 and " " in check.run[0]:
        yield CheckProblem("run", f"runs `{check.run[0][:60]}` as one word", "list its words: `[pytest, -q]`")
    for pattern in check.output:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            yield CheckProblem("output", f"has an invalid regular expression ({error})", "fix the expression")


EVIDENCE_RULES = (_evidence,)
