"""Warnings about a workflow that runs, but probably not as its author meant it, and its broken order rules."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from flowrail.machines import graph
from flowrail.machines.checks.data_flow import guard_of, unknown_values
from flowrail.machines.checks.mentions import mentions
from flowrail.machines.checks.proof import broken_rules
from flowrail.machines.checks.scope import Scope
from flowrail.machines.checks.table import Analysis, Check, Rows
from flowrail.machines.checks.trials import never_true
from flowrail.machines.demanded_evidence import Evidence, StepCommand
from flowrail.machines.dispatch import AgentRole
from flowrail.machines.expressions import EVIDENCE, parse
from flowrail.machines.findings import UnplacedFinding
from flowrail.machines.limits import GOVERNED
from flowrail.machines.outcome import Outcome
from flowrail.machines.parts import Part, instructions_of, texts_of
from flowrail.machines.statechart import is_limited
from flowrail.rules.tools import ToolUse, forbidding
from flowrail.text import phrases, placeholders
from flowrail.text.placeholders import fences

LARGEST_INSTRUCTIONS = 6_000
"""Bytes. An agent does not follow all of a longer text."""
_ALWAYS = frozenset({"true", ":", "echo", "printf", "exit", "test", "pwd", "ls", "sleep", "cat"})
"""Commands that always succeed, or that do not look at the work."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_WRAPPERS = frozenset({"env", "command", "nice", "nohup", "time"})


# --- transitions, limits and loops


def _transition(part: Part, _: Scope) -> Rows:
    step, outcome = part.step, part.value.outcome
    skip = graph.skip_outcome(step) if step.when is not None else None
    taken = {*graph.chosen_outcomes(step), Outcome.DEFAULT, skip}
    if (step.rules or step.questions or step.gate) and outcome not in taken:
        yield "FR162", "", f"step `{step.id}` never decides `{outcome}`, so that transition is never taken"


def _limit(part: Part, scope: Scope) -> Rows:
    step, workflow = part.step, scope.workflow
    if step.limit is None:
        return
    if step.id not in scope.repeated:
        yield "FR164", "limit", f"step `{step.id}` has a limit, but no transition leads back to it"
    elif not any(is_limited(workflow, step, outcome) for outcome in step.transitions):
        message = f"step `{step.id}` has a limit without effect: neither `iterate` nor `fail` leads back"
        yield "FR164", "limit", message, "move the limit to the step that leads back"


def _condition(part: Part, scope: Scope) -> Rows:
    if part.key == "variants" and part.step.id not in scope.repeated and guard_of(part.value).again:
        message = f"{part} of step `{part.step.id}` is for a second attempt, which never happens"
        yield "FR164", "", message


def _long_texts(part: Part, _: Scope) -> Rows:
    sizes: dict[tuple[str, str], int] = defaultdict(int)
    for text in instructions_of(part.step):
        at = f"variants/{text.path[1]}" if text.key == "variants" else ""
        sizes[at, text.label] += len(text.value.encode("utf-8", "surrogatepass"))
    for (at, label), size in sizes.items():
        if size > LARGEST_INSTRUCTIONS:
            owner = f"{label} of step `{part.step.id}`"
            message = f"{owner} has {size} bytes; agents miss parts of texts above {LARGEST_INSTRUCTIONS}"
            yield "FR165", at, message


def _fact(part: Part, _: Scope) -> Rows:
    if part.step is not None and part.value.has_default:
        message = f"the default of fact {part} is never used: a fact that is not reported has no value"
        yield "FR180", "", message


def _unbounded(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find loops without a limit."""
    workflow = scope.workflow
    unlimited = [
        edge
        for edge in graph.possible_edges(workflow)
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


def _unchanging(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find steps whose rules lead back depending on facts that no step of the loop reports."""
    for loop in scope.loops(scope.possible_edges.after) if not scope.is_open else ():
        steps = [scope.workflow.step(step_id) for step_id in loop]
        changing = {name for step in steps for name in step.reports} | {"visit"}
        for step in steps:
            names = {name for rule in step.rules if rule.when for name in parse(rule.when).names}
            leads_back = any(step.next_step(Outcome(rule.outcome)) in loop for rule in step.rules)
            from_evidence = any(name.startswith(EVIDENCE) for name in names)
            if names and leads_back and names.isdisjoint(changing) and not from_evidence:
                decided = f"step `{step.id}` goes back by {phrases.listed(sorted(names))}"
                message = f"{decided}, which no step of the loop reports: every attempt has the same result"
                yield UnplacedFinding("FR173", ("steps", scope.index[step.id], "rules"), message)


# --- sub-agents, questions and gates


def _work(part: Part, _: Scope) -> Rows:
    work, step = part.value, part.step
    if not step.decides and Outcome.OK not in step.transitions:
        yield "FR176", "", f"step `{step.id}` has no `ok` transition for when its agents succeed"
    texts = [text.value for text in texts_of(step) if text.key in {"vars", "prompt"}]
    uses_item = any("item" in placeholders.placeholders(text) for text in texts)
    if work.over is not None and not uses_item and (work.workflow or work.prompt):
        key = "vars" if work.workflow else "prompt"
        message = f"step `{step.id}` goes over a list, but no agent gets its `$item`: all do the same"
        yield "FR179", key, message
    guess = phrases.did_you_mean(work.agent, AgentRole, "")
    if guess and work.agent not in list(AgentRole):
        message = f"step `{step.id}` gives work to `{work.agent}`, which looks like a misspelt role"
        yield "FR145", "agent", message, guess


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
            message = f"an agent may answer `{part}`, which leads to step `{target.id}` with {what}"
            yield "FR188", "", message, "add `person: true`"


def _option(part: Part, _: Scope) -> Rows:
    """Find an answer after which a session continues as if the user had agreed."""
    option, transitions = part.value, part.step.transitions
    agreed = transitions.get(Outcome.OK, Outcome.OK)
    if option.outcome in GOVERNED and transitions.get(Outcome(option.outcome), "") == agreed:
        message = f"the answer `{option.label}` to `{part}` decides `{option.outcome}`, which leads where `ok` leads"
        yield "FR185", "", message


def _gate(part: Part, scope: Scope) -> Rows:
    """Find a gate that a session can reach without its review."""
    review, gate, after = part.value.review, part.step.id, scope.possible_edges.after
    starts = {str(scope.workflow.entry), *after.get(gate, ())} - {review, gate}
    if gate in graph.reach(starts, after, past=review):
        failed = starts.intersection([part.step.transitions[Outcome.FAIL]])
        when = "after it failed" if gate in graph.reach(failed, after, past=review) else "on some path"
        message = f"{when} a run comes to gate `{gate}` without its review `{review}`, and is refused there"
        yield "FR178", "", message


# --- evidence


def _check(part: Part, scope: Scope) -> Rows:
    check, step = part.value, part.step
    command = step.commands.get(check.command or "")
    problems = [*_weak_file(part, scope), *(_weak_command(command) if command else ())]
    for problem, remedy in problems:
        yield "FR184", "", f"{part} of step `{step.id}` proves little: {problem}", remedy
    path = check.file or check.files or ""
    if (
        check.changed and not path.startswith("$") and "*" not in path
    ):  # a session's own files may always change
        edit = ToolUse("Edit", {"file_path": path}, cwd="/project", project="/project", home="/home")
        rule = forbidding(step.forbids, edit)
        if rule is not None:
            message = f"{part} of step `{step.id}` wants `{path}` to change, and `forbids` has `{rule}`"
            yield "FR186", "", message


def _weak_file(part: Part, scope: Scope) -> Iterator[tuple[str, str]]:
    check: Evidence = part.value
    if check.file is None and check.files is None:
        return
    looks_inside = check.contains or check.section or check.items or check.covers or check.citations
    if not (check.changed or check.min_bytes > 1 or looks_inside or check.at_least > 1):
        yield "any file passes, also one that was there before", "add `changed`, `contains` or `section`"
    elif check.contains and not (check.citations or check.covers):
        texts = [*check.contains, *([check.section] if check.section else [])]
        blocks = (
            fence.body(text.value) for text in instructions_of(part.step) for fence in fences(text.value)
        )
        for template in (*blocks, *scope.workflow.resources.values()):  # what an agent can copy
            if len(template.encode()) >= check.min_bytes and all(text in template for text in texts):
                remedy = (
                    "ask for `min_bytes` above the size of the template, or for text that it does not contain"
                )
                yield "a copy of the template in the instructions passes", remedy
                return


def _weak_command(command: StepCommand) -> Iterator[tuple[str, str]]:
    words = [os.path.basename(word) for word in command.run]
    while len(words) > 1 and (words[0] in _WRAPPERS or "=" in words[0]):
        words = words[1:]
    if words[0] in _ALWAYS:
        yield f"`{words[0]}` succeeds without the work", "run a command that looks at the work"
    elif words[0] in _SHELLS and any(word.startswith("-") and "c" in word for word in words[1:]):
        yield "a shell hides what is run, and its last command decides", "name the program and its arguments"


WARNINGS: Mapping[str, Sequence[Check]] = {
    "step": (_limit, _long_texts),
    "transition": (_transition,),
    "value": (_fact,),
    "condition": (_condition,),
    "text": (mentions,),
    "work": (_work,),
    "question": (_question,),
    "option": (_option,),
    "gate": (_gate,),
    "check": (_check,),
}
"""The checks by the kind of part that they look at."""
GRAPH_WARNINGS: Sequence[Analysis] = (_unbounded, _unchanging, unknown_values, never_true, broken_rules)
