"""Warnings about a workflow that runs, but probably not as its author meant it, and its broken order rules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from flowrail.machines import graph
from flowrail.machines.checks.order_rules import always_kept, misspelt_tools
from flowrail.machines.checks.proof import broken_rules
from flowrail.machines.checks.scope import Scope
from flowrail.machines.checks.table import Analysis, Check, Rows
from flowrail.machines.demanded_evidence import Evidence
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.findings import UnplacedFinding
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.next_step import is_limited, possible_edges
from flowrail.machines.parts import Part, texts_of
from flowrail.machines.question import Option, Question
from flowrail.machines.step import StepDef
from flowrail.outcome import GOVERNED, Outcome
from flowrail.rules.tools import ToolUse, denied_by
from flowrail.text.placeholders import fences

_ALWAYS = frozenset({"true", ":", "echo", "printf", "exit", "test", "pwd", "ls", "sleep", "cat"})
"""Commands that always succeed, or that do not look at the work."""
_SHELL = re.compile(r"(?:\S*/)?(?:sh|bash|dash|zsh|ksh|fish) -\w*c")
"""A shell that runs a text."""
_ASKED = re.compile(r"\b[Rr]eport ((?:\*\*[a-z][a-z0-9_]*\*\*(?:,? and |, )?)+)")
"""The facts that instructions ask for, in bold."""


# --- texts and loops


def _text(part: Part, scope: Scope) -> Rows:
    step, is_read = part.step, part.key in {"actions", "variants"} and not callable(part.step.handler)
    asked = " ".join(_ASKED.findall(part.value)) if is_read else ""  # a handler may accept any fact
    for name in dict.fromkeys(re.findall(r"\*\*(\w+)\*\*", asked)):
        if name not in step.reports:
            hint = scope.did_you_mean(name, step.reports, "ask for a fact in `reports`")
            message = f"the text of step `{step.id}` asks for **{name}**, which the step does not accept"
            yield "FR181", f"**{name}**", message, hint


def _unbounded(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find loops without a limit."""
    workflow = scope.workflow
    unlimited = [
        edge
        for edge in possible_edges(workflow)
        if not is_limited(workflow, workflow.step(edge.source), edge.outcome)
    ]
    for loop in scope.loops(graph.adjacency(unlimited).after):
        back = [
            edge
            for edge in unlimited
            if edge.source in loop
            and edge.target in loop
            and scope.index[edge.target] <= scope.index[edge.source]
        ]
        edge = next((edge for edge in back if edge.outcome in GOVERNED), back[0])
        message = f"`{edge.outcome}` of step `{edge.source}` leads back to `{edge.target}` without a limit"
        hint = f"add a `limit` to step `{edge.source}`, such as `limit: 3`"
        if edge.outcome not in GOVERNED:
            hint = f"let step `{edge.source}` lead back by `iterate` or `fail`, and give it a `limit`"
        path = ("steps", scope.index[edge.source], "next", str(edge.outcome))
        yield UnplacedFinding("FR163", path, message, hint)


# --- sub-agents, questions and gates


def _work(part: Part, _: Scope) -> Rows:
    step = part.step
    if not step.decides and Outcome.OK not in step.transitions:
        yield "FR176", "", f"step `{step.id}` has no `ok` transition to take when its agents succeed"


def _question(part: Part, scope: Scope) -> Rows:
    """Find a question of an agent's user that decides about what is guarded, or cannot be undone by running it again."""
    question, transitions = part.value, part.step.transitions
    outcomes = {*(option.outcome or Outcome.OK for option in question.options), question.other}
    targets = [target for outcome, target in transitions.items() if outcome in outcomes]
    guarded = {step for steps in scope.workflow.guards.values() for step in steps}
    for target in filter(None, map(scope.workflow.get, targets)):
        once = [name for name, command in target.commands.items() if command.once]
        if not question.person and (once or target.id in guarded):
            what = f"the command `{once[0]}`, which runs once" if once else "what a guard allows only there"
            message = f"an agent may answer `{question.id}`, which leads to step `{target.id}` with {what}"
            yield "FR188", "", message, "add `person: true`"


def _option(part: Part, _: Scope) -> Rows:
    """Find an answer after which a session continues as if the user had agreed."""
    option, transitions = part.value, part.step.transitions
    question = part.step.questions[int(part.inside[1])]
    agreed = transitions.get(Outcome.OK, Outcome.OK)
    if option.outcome in GOVERNED and transitions.get(Outcome(option.outcome), "") == agreed:
        message = f"`{option.label}` of `{question.id}` decides `{option.outcome}`, which leads to the same step as `ok`"
        yield "FR185", "", message


def _gate(part: Part, scope: Scope) -> Rows:
    """Find a gate that a session can reach without its review."""
    review, gate, after = part.value.review, part.step.id, scope.possible_edges.after
    starts = {str(scope.workflow.entry), *after.get(gate, ())} - {review, gate}
    if gate in graph.reach(starts, after, past=review):
        yield (
            "FR178",
            "",
            f"a session can reach gate `{gate}` without its review `{review}`, and the gate then refuses to decide",
        )


# --- evidence


def _check(part: Part, scope: Scope) -> Rows:
    check: Evidence = part.value
    command = part.step.commands.get(check.command or "")
    path = check.file or check.files or ""
    if check.changed and not path.startswith("$"):  # a session's own files may always change
        edit = ToolUse("Edit", {"file_path": path}, cwd="/project", project="/project", home="/home")
        if rule := denied_by(part.step, edit):
            message = f"{part.full} requires a change to `{path}`, but its step forbids `{rule}`"
            yield "FR186", "", message
    if check.file is not None or check.files is not None:
        if not _has_condition(check):
            problem = "any file passes, even one that existed before"
            yield (
                "FR184",
                "",
                f"{part.full} proves little: {problem}",
                "add `changed`, `contains` or `section`",
            )
        elif _is_in_template(check, part.step, scope):
            remedy = (
                "ask for `min_bytes` above the size of the template, or for text that it does not contain"
            )
            yield "FR184", "", f"{part.full} proves little: a copy of the template passes", remedy
    elif command is not None and (
        os.path.basename(command.run[0]) in _ALWAYS or _SHELL.match(" ".join(command.run))
    ):
        problem = f"`{command.run[0]}` succeeds without the work, or hides what is run"
        yield "FR184", "", f"{part.full} proves little: {problem}", "name the program that checks the work"


def _has_condition(check: Evidence) -> bool:
    looks_inside = check.contains or check.section or check.items or check.covers or check.citations
    return bool(check.changed or check.min_bytes > 1 or looks_inside or check.at_least > 1)


def _is_in_template(check: Evidence, step: StepDef, scope: Scope) -> bool:
    """Return whether a text that the agent can copy from its instructions would pass."""
    demanded = [*check.contains, *([check.section] if check.section else [])]
    if not check.contains or check.citations or check.covers:
        return False
    texts = [text.value for text in texts_of(step) if text.key in {"actions", "variants"}]
    blocks = (fence.body(text) for text in texts for fence in fences(text))
    return any(
        len(template.encode()) >= check.min_bytes and all(text in template for text in demanded)
        for template in (*blocks, *scope.workflow.resources.values())
    )


WARNINGS: Mapping[object, Sequence[Check]] = {
    "text": (_text,),
    Dispatch: (_work,),
    Question: (_question,),
    Option: (_option,),
    GateConfig: (_gate,),
    Evidence: (_check,),
}
"""The checks by the kind of part that they look at."""
GRAPH_WARNINGS: Sequence[Analysis] = (_unbounded, broken_rules, misspelt_tools, always_kept)
