"""The errors of a workflow: no session starts with one of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from flowrail.machines import expressions, graph
from flowrail.machines.checks import order_rules
from flowrail.machines.checks.functions import declared_outcomes, function_problems
from flowrail.machines.checks.scope import Scope
from flowrail.machines.checks.table import Analysis, Check, Rows
from flowrail.machines.demanded_evidence import KINDS, CommandFact, Evidence, StepCommand
from flowrail.machines.dispatch import MOST_DISPATCHES, Dispatch, needed_by
from flowrail.machines.findings import UnplacedFinding
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.next_step import skippable
from flowrail.machines.parts import Part
from flowrail.machines.question import Option, Question, problems_in
from flowrail.machines.severities import DEFAULT_POLICY, POLICIES
from flowrail.machines.step import (
    BUILT_IN,
    LONGEST_NAME,
    NAMES,
    STEP_ID,
    UNWRITTEN,
    VALUE_NAME,
    WORKFLOW_NAME,
    Rule,
    StepDef,
    handler_signature,
)
from flowrail.machines.values import Arg, kind_of, misfit, same
from flowrail.machines.workflow import Workflow
from flowrail.outcome import LISTED, OK_AT_LIMIT, REPORTABLE, Outcome
from flowrail.rules import tools
from flowrail.text import phrases, placeholders
from flowrail.text.safe_text import in_quotes

Problem = tuple[str, str, str]
"""The key in a part, what is wrong, and what to write instead."""
MOST_TRANSITIONS = 5_000
LONGEST_PATTERN = 500
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
_NAMES = "start with a lower-case letter; use letters, digits and `_`, at most 32"
_HEADING = re.compile(r"#{1,6} +\S")
_SINGLE_EQUALS = re.compile(r"(?<![=!<>])=(?!=)")
_RESERVED = {*BUILT_IN, *expressions.WORDS, *expressions.CONSTANTS}
_FILE_CONDITIONS: Mapping[str, object] = {
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


# --- the workflow, its steps and their transitions


def _workflow(part: Part, scope: Scope) -> Rows:
    workflow = part.value
    if not WORKFLOW_NAME.match(workflow.name) or len(workflow.name) > 2 * LONGEST_NAME:
        yield "FR107", "name", f"`{workflow.name}` is not a valid name for a workflow", NAMES
    if not workflow.steps:
        yield "FR114", "steps", f"workflow `{workflow.name}` has no steps"
    elif workflow.entry not in workflow:
        hint = phrases.did_you_mean(str(workflow.entry), scope.index, "name one of the steps")
        yield "FR101", "entry", f"unknown entry point `{workflow.entry}`", hint
    elif not scope.all_edges.ends:
        yield "FR103", "steps", "no step ends the workflow"
    for placeholder, why, hint in scope.unfilled(workflow.then or ""):
        message = f"what comes after `{workflow.name}` has `{placeholder}`, {why}"
        yield "FR151", "then", message, hint


def _transition(part: Part, scope: Scope) -> Rows:
    source, outcome, target = part.step.id, part.name, part.value
    if outcome not in set(Outcome):
        hint = f"use one of {LISTED}, or `{Outcome.DEFAULT}` for all others"
        hint = phrases.did_you_mean(outcome, map(str, REPORTABLE), hint)
        yield "FR113", "", f"unknown outcome `{outcome}`", hint
    edges = scope.unknown_targets.get(target, ())
    if edges and edges[0] == (source, outcome, target):  # a name that several transitions use is one finding
        more = f", as {phrases.count(len(edges) - 1, 'other transition')} do" if edges[1:] else ""
        hint = scope.did_you_mean(target, scope.index, "use the id of a step; `null` ends the run")
        yield "FR102", "", f"step `{source}` leads to unknown step `{target}`{more}", hint


def _step(part: Part, _: Scope) -> Rows:
    step, accepted = part.step, part.step.transitions
    if not STEP_ID.match(step.id):
        hint = "start with a letter; use letters, digits, `_` and `-`, at most 64"
        yield "FR107", "id", f"`{step.id}` is not a valid id for a step", hint
    if not step.next:
        yield "FR112", "", f"step `{step.id}` has no transitions"
    if all(outcome in step.next for outcome in Outcome):
        message = f"step `{step.id}` names every outcome, so its default transition is never taken"
        yield "FR111", f"next/{Outcome.DEFAULT}", message
    if step.limit is not None and OK_AT_LIMIT & accepted.keys() and Outcome.OK not in accepted:
        yield "FR117", "limit", f"step `{step.id}` has no `ok` transition to take when its limit is reached"
    found = [(key, rule) for key, rules in tools.step_patterns(step).items() for rule in rules]
    for (key, rule), count in Counter(found).items():
        problem = tools.problem(rule) or ("is listed twice" if count > 1 else None)
        if problem is not None:
            message = f"step `{step.id}` has an invalid rule in `{key}`: `{rule[:60]}` {problem}"
            yield "FR156", key, message


def _position(part: Part, scope: Scope) -> Rows:
    step = part.step
    if step.id not in scope.reached:
        yield "FR104", "", f"no path leads from `{scope.workflow.entry}` to step `{step.id}`"
    elif scope.all_edges.ends and step.id not in scope.can_end:
        yield "FR108", "", f"no path leads from step `{step.id}` to an end"
    if step.when is not None and step.id == scope.workflow.entry:
        yield "FR116", "when", f"step `{step.id}` is the first step and may not apply"
    if skippable(scope.workflow, step.id, scope.skips) is None:
        message = f"if step `{step.id}` does not apply, no step follows it"
        yield "FR116", "when", message, "add a `skip` transition to a step without `when`"


def _instructions(part: Part, _: Scope) -> Rows:
    step = part.step
    texts = () if callable(step.actions) else step.actions
    if not step.title:
        yield "FR115", "", f"step `{step.id}` has no title"
    if texts and not any(text.strip() for text in texts):
        hint = f"write `actions` or the file `steps/{step.id}.md`"
        yield "FR115", "", f"step `{step.id}` has no instructions", hint
    elif UNWRITTEN in texts:
        message = f"the instructions of step `{step.id}` contain `...`, which still has to be written"
        yield "FR115", "actions", message, "replace `...` by the instructions", "warning"


def _repeated_ids(scope: Scope) -> Iterator[UnplacedFinding]:
    for index, step in enumerate(scope.workflow.steps):
        if scope.index[step.id] != index:
            message = f"step `{step.id}` is defined twice, first as step {scope.index[step.id] + 1}"
            yield UnplacedFinding("FR106", ("steps", index, "id"), message)


def _stuck_loops(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find loops that are never left although their steps could reach an end."""
    after, _, ends = scope.possible_edges
    for loop in scope.loops(after) if scope.workflow.entry in scope.workflow else ():
        inside = set(loop)
        is_left = inside & ends or any(target not in inside for step_id in loop for target in after[step_id])
        if not is_left and inside <= scope.can_end:
            message = f"the loop of {phrases.listed(loop)} is never left"
            yield UnplacedFinding("FR109", ("steps", scope.index[loop[0]]), message)


def _compiled_size(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find the step at which a machine would have too many transitions to compile quickly."""
    total = 0
    for index, step in enumerate(scope.workflow.steps):
        targets = step.transitions.values()
        total += sum(skippable(scope.workflow, target, scope.skips) or 0 for target in targets)
        if total > MOST_TRANSITIONS:
            message = (
                f"up to step `{step.id}`, the machine would have more than {MOST_TRANSITIONS} transitions, because "
                "steps that may not apply follow each other"
            )
            hint = "split the workflow, or let `skip` lead past several steps at once"
            yield UnplacedFinding("FR116", ("steps", index), message, hint)
            return


# --- what decides the outcome


def _rule(part: Part, _: Scope) -> Rows:
    rule, step = part.value, part.step
    if rule.outcome not in step.transitions:
        hint = f"add `{rule.outcome}` to `next`, or decide one of {phrases.listed(step.transitions)}"
        if rule.outcome not in REPORTABLE:
            hint = phrases.did_you_mean(rule.outcome, map(str, step.transitions), hint)
        yield "FR110", "", f"{part.full} decides `{rule.outcome}`, which leads nowhere", hint
    if rule.when is None and rule is not step.rules[-1]:
        message = f"{part.full} always holds, so the rules after it are never tried"
        yield "FR118", "", message
    if rule is step.rules[-1] and all(rule.when is not None for rule in step.rules):
        message = f"it is possible that no rule of step `{step.id}` holds"
        yield "FR118", "", message, "end with a rule without `if`"


def _deciders(part: Part, scope: Scope) -> Rows:
    step, handler = part.step, part.step.handler
    deciders = {
        "gate": step.gate,
        "questions": step.questions,
        "rules": step.rules,
        "handler": handler if callable(handler) or step.rules else None,
    }
    named = [name for name, decider in deciders.items() if decider]
    if len(named) > 1:
        yield "FR124", named[0], f"the outcome of step `{step.id}` is decided by {phrases.listed(named)}"
    if not (handler is None or callable(handler) or isinstance(handler, Dispatch)):
        message = f"the handler of step `{step.id}` is of type {type(handler).__name__}"
        yield "FR128", "handler", message, "write a function or `Dispatch(...)`"
    for name, has_default in handler_signature(handler).items():
        if has_default is False and name not in scope.workflow.params and name not in step.reports:
            message = f"the handler of step `{step.id}` asks for `{name}`, which nothing provides"
            yield "FR105", "handler", message
    for outcome in declared_outcomes(handler):
        if outcome not in step.transitions:
            message = f"the handler of step `{step.id}` may decide `{outcome}`, which leads nowhere"
            yield "FR110", "handler", message


def _function(part: Part, _: Scope) -> Rows:
    for problem, remedy in function_problems(part):
        yield "FR128", "", f"the function for {part.full} {problem}", remedy


# --- parameters, facts and expressions


def _value(part: Part, _: Scope) -> Rows:
    if part.name in _RESERVED or not VALUE_NAME.match(part.name):
        yield (
            "FR107",
            "",
            f"`{part.name}` is not a valid name for a value",
            "use a lower-case word such as `topic`",
        )
    for message, remedy in _value_problems(part.full, part.value):
        yield "FR122", "", message, remedy
    source = part.value.source
    if source is not None and part.step is None:
        yield "FR159", "from", f"{part.full} has `from`, which only facts have", "remove it"
    elif source is not None:
        known = [f"{name}.{fact}" for name, command in part.step.commands.items() for fact in command.facts]
        if source not in known:
            message = f"{part.full} comes from `{source[:60]}`, which no command has"
            hint = "write COMMAND.FACT, both declared in `commands`"
            yield "FR159", "from", message, phrases.did_you_mean(source, known, hint)


def _value_problems(name: str, arg: Arg) -> Iterator[tuple[str, str]]:
    if _has_odd_bounds(arg):
        yield f"{name} has a bound that is not a whole number", "use whole numbers, or `type: number`"
        return
    if arg.choices is not None and not arg.choices:
        yield f"{name} has an empty list of choices", "list the choices, or remove `choices`"
    for choice in arg.choices or () if arg.kind != "list" else ():
        if problem := misfit(arg, choice):
            yield (
                f"the choice `{choice}` of {name} does not fit: it {problem}",
                "change the choice or the type",
            )
    for low, high, unit in ((arg.min, arg.max, ""), (arg.min_length, arg.max_length, " long")):
        if low is not None and high is not None and low > high:
            yield f"{name} is at least {low} and at most {high}{unit}", "swap the bounds"
    default = arg.default if arg.has_default and arg.default != "" else None
    for label, value in (("default", default), ("example", arg.example)):
        problem = arg.problem(value) if value is not None else None
        if problem:
            yield (
                f"the {label} of {name} does not fit: it {problem}",
                "give a value that fits; a text that looks like a number needs quotes",
            )


def _has_odd_bounds(arg: Arg) -> bool:
    """Return whether *arg* is a whole number with a bound that is not a whole number."""
    bounds = (bound for bound in (arg.min, arg.max) if bound is not None)
    return arg.kind == "integer" and any(kind_of(bound) != "integer" for bound in bounds)


def _condition(part: Part, scope: Scope) -> Rows:
    source = part.value
    try:
        expression = expressions.parse(source)
    except expressions.RuleError as error:
        hint = "compare names and literals, such as `mode == 'full' and visit > 1`"
        if _SINGLE_EQUALS.search(source):
            hint = f"write `==` to compare: `{in_quotes(_SINGLE_EQUALS.sub('==', source))}`"
        yield "FR119", "", f"the expression of step `{part.step.id}` {error}", hint
        return
    condition = f"`{in_quotes(source)}` of step `{part.step.id}`"
    for name in sorted(expression.names - {"visit", "limit", *scope.values}):
        if not scope.is_open:
            hint = scope.hint(name, ("visit", "limit"))
            yield "FR120", "", f"{condition} uses `{name}`, which is not declared", hint
    for name, is_equality, literal in expression.comparisons():
        arg = scope.values.get(name)
        if arg is None or literal is None or not is_equality or _has_odd_bounds(arg):
            continue
        reason = arg.problem(literal)
        if reason and not (arg.has_default and same(arg.default, literal)):
            value = in_quotes(str(literal))
            message = f"{condition} compares `{name}` with `{value}`, a value that the name never has"
            yield "FR123", "", message, f"it {reason}"


def _text(part: Part, scope: Scope) -> Rows:
    if part.key == "vars" and not isinstance(part.value, str):
        return
    for placeholder, why, hint in scope.unfilled(part.value, part.names):
        code, at = ("FR141", "") if part.key == "vars" else ("FR121", placeholder)
        yield code, at, f"{part.full} has `{placeholder}`, {why}", hint


# --- sub-agents, questions and gates


def _work(part: Part, scope: Scope) -> Rows:
    work, step = part.value, part.step
    if step.dispatch is not None and isinstance(step.handler, Dispatch) and work is step.work:
        yield "FR154", "", f"step `{step.id}` has a `dispatch` and a `Dispatch` for a handler"
    for name in work.vars:
        if not VALUE_NAME.match(name) or name in BUILT_IN:
            message = f"`{name}` is not a valid variable name"
            yield "FR141", f"vars/{name}", message, "use a lower-case word"
    for problem, remedy in _over_problem(work.over, scope):
        yield "FR140", "over", f"step `{step.id}` goes over {problem}", remedy
    for problem, remedy in _join_problem(work):
        yield "FR142", "join", f"step `{step.id}` {problem}", remedy
    if work.workflow is None and not any(text.strip() for text in work.prompt):
        if work.over is not None:
            yield "FR144", "", f"step `{step.id}` does not tell its agents which item is theirs"
        elif not callable(step.actions) and not any(text.strip() for text in step.actions):
            hint = "name a file with its instructions as `prompt`, or write those of the step"
            yield "FR144", "", f"step `{step.id}` has no instructions for its agent", hint


def _over_problem(over: str | Sequence[object] | None, scope: Scope) -> Iterator[tuple[str, str]]:
    if isinstance(over, str):
        arg = scope.values.get(over)
        if arg is None and not scope.is_open:
            yield f"`{over}`, which is not declared", scope.hint(over)
        elif arg is not None and arg.kind != "list":
            yield f"`{over}`, which is a {arg.kind}, not a list", "declare it with `type: list`"
    elif over is not None and not over:
        yield "an empty list", "list the items, or name a fact that is a list"
    elif over is not None and len(over) > MOST_DISPATCHES:
        yield f"{len(over)} items; at most {MOST_DISPATCHES} are allowed", "give several to an agent"
    elif over is not None and any(item in over[:number] for number, item in enumerate(over)):
        yield "a list with an item twice", "list each item once"


def _join_problem(work: Dispatch) -> Iterator[tuple[str, str]]:
    count = 1 if work.over is None else len(work.over) if isinstance(work.over, tuple) else None
    try:
        needed = needed_by(work.join, 0)
    except ValueError:
        yield f"has an invalid join `{work.join}`", "write `all`, `any` or `at least 1`"
        return
    if count is not None and needed > count > 0:
        yield f"waits for {needed} of {count}", f"write at most {count}, or `all`"


def _questions(part: Part, _: Scope) -> Rows:
    step = part.step
    for path, problem in problems_in(step.questions) if step.questions else ():
        owner = f"question {int(path[0]) + 1}" if path else "the questions"
        words = " ".join(filter(None, [".".join(map(str, path[1:])), problem]))
        yield "FR146", "/".join(["questions", *map(str, path)]), f"{owner} of step `{step.id}`: {words}"
    named = {option.outcome for question in step.questions for option in question.options}
    may_be_ok = step.questions and Outcome.OK in graph.answered_outcomes(step) - named
    if may_be_ok and Outcome.OK not in step.transitions:
        message = f"step `{step.id}` has no `ok` transition to take when its questions are answered"
        yield "FR147", "questions", message, "add `ok` to `next`, or give the options an `outcome`"


def _answer(part: Part, _: Scope) -> Rows:
    key = "other" if part.kind is Question else "outcome"
    outcome = getattr(part.value, key)
    if outcome is not None and outcome not in part.step.transitions:
        message = f"an answer to {part.full} decides `{outcome}`, which leads nowhere"
        yield "FR147", key, message


def _gate(part: Part, scope: Scope) -> Rows:
    review, policy, step = part.value.review, part.value.policy or DEFAULT_POLICY, part.step
    param = scope.workflow.params.get(policy[1:]) if policy.startswith("$") else None
    if policy not in POLICIES and not (param and set(param.choices or ("",)) <= POLICIES.keys()):
        hint = f"use {phrases.listed(POLICIES)}, or a parameter with these choices"
        yield "FR148", "policy", f"gate `{step.id}` has the unknown policy `{policy[:60]}`", hint
    missing = [outcome for outcome in (Outcome.OK, Outcome.FAIL) if outcome not in step.transitions]
    for outcome in missing:
        yield "FR148", "", f"gate `{step.id}` has no transition for `{outcome}`", f"add `{outcome}` to `next`"
    after, before, _ = scope.all_edges
    if review not in scope.workflow and review in before:
        return  # reported as a transition to an unknown step
    if review not in scope.workflow or review == step.id:
        ids = (step_id for step_id in scope.index if step_id != step.id)
        hint = scope.did_you_mean(review, ids, "name the step that reviews")
        yield "FR148", "review", f"the review `{review}` of gate `{step.id}` is not a step before it", hint
    elif not missing:
        target = step.next_step(Outcome.FAIL)
        if target is None or review not in graph.reach([target], after):
            yield "FR149", "", f"`fail` of gate `{step.id}` does not lead back to its review `{review}`"
        elif step.id not in graph.reach([review], after):
            message = f"no path leads from the review `{review}` to its gate `{step.id}`"
            yield "FR149", "", message, "let the review lead to its gate"


# --- evidence and commands


def _demand(part: Part, _: Scope) -> Rows:
    step, outcome = part.step, part.name
    if outcome not in step.transitions:
        message = f"step `{step.id}` demands evidence for `{outcome}`, which it does not accept"
        hint = phrases.did_you_mean(outcome, map(str, step.transitions), "name an outcome of `next`")
        yield "FR157", "", message, hint
    if not part.value:
        yield "FR157", "", f"step `{step.id}` has no checks for `{outcome}`", "list at least one"


def _repeated_checks(part: Part, _: Scope) -> Rows:
    earlier: dict[str, Evidence] = {}
    for outcome, checks in part.step.evidence.items():
        ids: set[str] = set()
        for number, check in enumerate(checks):
            is_repeated = check.id in ids
            if is_repeated or earlier.get(check.id, check) != check:
                problem = (
                    "is not the first with its id" if is_repeated else "differs from that of another outcome"
                )
                message = f"check `{check.id}` of step `{part.step.id}` {problem}"
                yield "FR157", f"evidence/{outcome}/{number}/id", message, "give it another id"
            ids.add(check.id)
        earlier |= {check.id: check for check in checks}


def _check(part: Part, scope: Scope) -> Rows:
    check: Evidence = part.value
    kinds = f"has {phrases.listed(check.kinds)}" if check.kinds else "looks at nothing"
    problems = [("", kinds, f"give exactly one of {phrases.listed(KINDS)}")]
    if len(check.kinds) == 1:
        problems = [*_misfits(check, part.step), *_bad_texts(check, scope)]
    if not _NAME.match(check.id):
        problems.append(("id", "has an invalid id", _NAMES))
    for key, problem, remedy in problems:
        yield "FR157", key, f"{part.full} {problem}", remedy


def _misfits(check: Evidence, step: StepDef) -> Iterator[Problem]:
    """Yield the keys that do not fit the kind of a check, and values that cannot be meant."""
    kind = check.kind
    for name, default in _FILE_CONDITIONS.items():
        counts = kind == "files" or check.citations or check.items
        fits = kind in {"file", "files"} and (name != "at_least" or counts)
        if getattr(check, name) != default and not fits:
            yield name, f"has `{name}`, which does not fit `{kind}`", "remove it"
    if check.command is not None and check.command not in step.commands:
        hint = phrases.did_you_mean(check.command, step.commands, "declare it in the `commands` of the step")
        yield "command", f"names the unknown command `{check.command[:60]}`", hint
    if check.items is not None and not re.fullmatch("[A-Z]", check.items):
        yield "items", f"has items `{check.items[:20]}`", "give one capital letter, such as E for E1, E2"
    if check.section is not None and not _HEADING.match(check.section):
        yield "section", f"has the section `{check.section[:60]}`", "write a heading, such as `## Evidence`"


def _bad_texts(check: Evidence, scope: Scope) -> Iterator[Problem]:
    """Yield the paths, texts and placeholders of a check that cannot be used."""
    paths = {check.kind: check.file or check.files or ""} if check.kind in {"file", "files"} else {}
    texts = [*paths.items(), *(("contains", text) for text in check.contains), ("person", check.person or "")]
    if check.covers is not None:
        texts.append(("covers", check.covers))
        paths |= {} if _HEADING.match(check.covers) else {"covers": check.covers}
    for key, path in paths.items():
        yield from _path_problems(key, path)
    for key, text in texts:
        for placeholder, why, hint in scope.unfilled(text):
            yield key, f"has `{placeholder}`, {why}", hint
    if not all(text.strip() for text in check.contains):
        yield "contains", "looks for an empty text", "give a text that the file must contain"
    if check.person is not None and not check.person.strip():
        yield "person", "does not say what to confirm", "write what the person confirms"


def _path_problems(key: str, path: str) -> Iterator[Problem]:
    is_outside = not path or path.startswith("/") or ".." in path.split("/")
    if is_outside or "\0" in path or len(path) > LONGEST_PATTERN:
        yield key, f"has the path `{path[:80]}`", "use a path relative to the project, without `..`"


def _command(part: Part, scope: Scope) -> Rows:
    for key, problem, remedy in _command_problems(part, scope):
        yield "FR159", key, f"{part.full} {problem}", remedy


def _command_problems(part: Part, scope: Scope) -> Iterator[Problem]:
    if not _NAME.match(part.name):
        yield "", "has an invalid name", _NAMES
    run = part.value.run
    if not run or not all(word and "\0" not in word for word in run):
        yield "run", "has an empty word", "list the program and its arguments as texts"
    elif len(run) == 1 and " " in run[0]:
        yield "run", f"runs `{run[0][:60]}` as one word", "list its words: `[pytest, -q]`"
    elif placeholders.placeholders(run[0]) or run[0].startswith("-"):
        yield "run", f"runs `{run[0][:60]}`", "name the program; only arguments can be placeholders"
    for placeholder, why, hint in chain.from_iterable(map(scope.unfilled, run)):
        yield "run", f"has `{placeholder}`, {why}", hint
    for path in part.value.reads:
        yield from _path_problems("reads", path)


def _pattern(part: Part, _: Scope) -> Rows:
    if not _NAME.match(part.name):
        yield "FR159", "", f"{part.full} has a fact with the invalid name `{part.name[:60]}`", _NAMES
    try:
        groups = re.compile(part.value.match).groups
    except (re.error, RecursionError, OverflowError) as error:
        yield (
            "FR159",
            "match",
            f"{part.full} has an invalid regular expression ({error})",
            "fix the expression",
        )
        return
    if groups == 0:
        hint = "put parentheses around the value: `(\\d+) failed`"
        yield "FR159", "match", f"{part.full} has a pattern without a group for the value", hint
    elif groups > 1:
        hint = "keep one pair of parentheses, and write the others as `(?:…)`"
        yield "FR159", "match", f"{part.full} has a pattern with {groups} groups", hint


ERRORS: Mapping[object, Sequence[Check]] = {
    Workflow: (_workflow,),
    StepDef: (_step, _position, _instructions, _deciders, _questions, _repeated_checks),
    "transition": (_transition,),
    Rule: (_rule,),
    "function": (_function,),
    Arg: (_value,),
    "condition": (_condition,),
    "text": (_text,),
    Dispatch: (_work,),
    Question: (_answer,),
    Option: (_answer,),
    GateConfig: (_gate,),
    "demand": (_demand,),
    Evidence: (_check,),
    StepCommand: (_command,),
    CommandFact: (_pattern,),
}
"""The checks by the kind of part that they look at."""
GRAPH_ERRORS: Sequence[Analysis] = (
    _repeated_ids,
    _stuck_loops,
    _compiled_size,
    order_rules.guards,
    order_rules.order,
)
