"""Judge transcripts of agents by the guards and order rules of a workflow."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from flowrail.command import Command, Hint
from flowrail.conformance.judge import Judge, JudgedRule, RunVerdict
from flowrail.conformance.transcripts import Transcript, calls_of, runs
from flowrail.errors import DocumentError, UsageError
from flowrail.machines.findings import raise_errors
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.skills.skill_check import files_of
from flowrail.text.phrases import count
from flowrail.text.report import Line, Part, Report, Span, Style, Table, columns
from flowrail.text.safe_text import one_line

_STYLES = {
    RunVerdict.KEPT: Style.GOOD,
    RunVerdict.BROKEN: Style.BAD,
    RunVerdict.UNKNOWN: Style.WARNING,
}


@dataclass(frozen=True)
class JudgedRun:
    """One conversation of an agent, with its sub-agents."""

    run: str
    """The id of the conversation, or the file."""
    files: tuple[str, ...]
    """Its transcripts."""
    format: str
    """The form of the transcripts: claude-code, codex or neutral; empty if none was recognised."""
    calls: int
    """How many tool calls were read."""
    sessions: tuple[str, ...]
    """The sessions of the workflow in it."""
    steps: tuple[str, ...]
    """The steps that were recognised."""
    unreadable: int
    """How many lines could not be read."""
    rules: tuple[JudgedRule, ...]
    """The verdict about each rule."""


@dataclass(frozen=True)
class RuleTotal:
    """In how many runs a rule was kept."""

    rule: str
    kept: int
    broken: int
    unknown: int


@dataclass(frozen=True)
class Conformance:
    """What agents did, judged by a workflow."""

    workflow: str
    """The workflow."""
    runs: tuple[JudgedRun, ...]
    """The runs."""
    totals: tuple[RuleTotal, ...]
    """The guards and order rules, with their totals."""

    @property
    def exit_status(self) -> int:
        """1 if a rule was broken, or if nothing was recognised."""
        is_known = any(total.kept for total in self.totals)
        return int(not is_known or any(total.broken for total in self.totals))

    def report(self) -> Report:
        """Return what a person reads: each deviation with its line, the table of the runs, and the totals."""
        for run in self.runs:
            for rule in run.rules:
                if rule.verdict is RunVerdict.BROKEN:
                    place = f"{one_line(rule.file)}:{rule.line}"
                    yield Line((f"{place}: {one_line(rule.rule)}: {one_line(rule.reason)}",), wraps=False)
        numbers = [str(number) for number in range(1, len(self.totals) + 1)]
        yield Table(columns("run", "calls", *numbers), [_row(run) for run in self.runs])
        for number, total in zip(numbers, self.totals, strict=True):
            yield f"{number}  {one_line(total.rule)}: {total.kept} kept, {total.broken} broken, {total.unknown} unknown"
        unreadable = sum(run.unreadable for run in self.runs)
        if unreadable:
            yield f"{count(unreadable, 'line')} could not be read, so no rule counts as kept in these runs"
        if not any(total.kept or total.broken for total in self.totals):
            yield "nothing was recognised: the runs used neither `flow` nor a command, file or guard of the workflow"


@operation(
    "conform",
    "flow conform release ~/.claude/projects/-srv-shop",
    "flow conform ./release/workflow.yaml ~/.codex/sessions/2026/11 --json",
)
def conform(
    environment: Environment,
    workflow: Annotated[str, Help("The skill, folder or workflow file.", metavar="WORKFLOW")],
    transcripts: Annotated[tuple[str, ...], Help("Transcripts, or folders of them.", metavar="TRANSCRIPT")],
) -> Conformance:
    """Judge transcripts by the rules of a workflow

    Reads transcripts of Claude Code and Codex with those of their sub-agents, or one JSON object per call with name,
    arguments and result, and says for each run which order rules and guards it kept, with the line of the first
    deviation. The runs need not have used flow. What cannot be recognised is unknown, never kept. Exits 1 if a rule was
    broken, or if nothing was recognised.
    """
    loaded = environment.loader.read(files_of([workflow], environment.roots, environment.cwd)[0])
    raise_errors(loaded.definition.name, loaded.findings)
    definition = loaded.definition
    if not (definition.order or definition.guards):
        raise UsageError(
            f"workflow `{definition.name}` has no rules to judge by",
            hint=Hint("add `order` or `guards` to it, then prove them: ", Command("check", workflow)),
        )
    judged = []
    try:
        found = runs(os.path.join(environment.cwd, os.path.expanduser(path)) for path in transcripts)
        for name, files in found:
            judge = Judge(definition)
            for call in calls_of(files):
                judge.add(call)
            judged.append(_judged(name, files, judge))
    except OSError as error:
        raise DocumentError(
            f"cannot be read ({error.strerror})",
            hint="name a transcript or a folder",
            place=str(error.filename),
        ) from None
    return Conformance(definition.name, tuple(judged), tuple(_totals(Judge(definition).names, judged)))


def _judged(name: str, files: list[Transcript], judge: Judge) -> JudgedRun:
    unreadable = sum(len(file.unreadable) for file in files)
    doubt = f"{count(unreadable, 'line')} could not be read" if unreadable else ""
    calls = sum(file.calls for file in files)
    doubt = doubt if calls else "no tool call was recognised"
    return JudgedRun(
        run=name,
        files=tuple(file.path for file in files),
        format=next((file.format for file in files if file.format), ""),
        calls=calls,
        sessions=tuple(judge.sessions),
        steps=tuple(judge.recognised),
        unreadable=unreadable,
        rules=tuple(judge.verdicts(doubt)),
    )


def _totals(names: list[str], judged: list[JudgedRun]) -> Iterator[RuleTotal]:
    for index, name in enumerate(names):
        verdicts = Counter(run.rules[index].verdict for run in judged)
        yield RuleTotal(name, *(verdicts[verdict] for verdict in RunVerdict))


def _row(run: JudgedRun) -> list[Part]:
    name = os.path.basename(run.run)
    cells = (
        Span(
            f"{rule.verdict}{f' :{rule.line}' if rule.verdict is RunVerdict.BROKEN else ''}",
            _STYLES[rule.verdict],
        )
        for rule in run.rules
    )
    return [one_line(name), str(run.calls), *cells]
