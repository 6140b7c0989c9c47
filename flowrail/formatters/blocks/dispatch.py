"""Blocks that give work to other agents: to one, to many at once, and what the one who gives it may do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowrail.command import Command
from flowrail.formatters.blocks.elements import block, element
from flowrail.formatters.blocks.plain_text import format_invoke_command
from flowrail.machines.definition.delegation import AgentRole
from flowrail.machines.definition.step import WORKFLOW_NAME
from flowrail.text.markup import Markup, Verbatim
from flowrail.text.phrases import in_words, listed
from flowrail.text.placeholders import placeholders


def format_subagent_dispatch(
    agent: AgentRole | str,
    script_path: str = "",
    step: int = 1,
    total_steps: int | None = None,
    context_vars: Mapping[str, object] | None = None,
    *,
    free_form: bool = False,
    command: str = "",
    model: str | None = None,
) -> Markup:
    """Return how to launch one agent: what it runs first, and what it needs to know.

    It runs *command*, such as ``flow claim …``, or else *script_path*: a step of a script or module, or a workflow,
    such as ``planner/explore``, with *context_vars* as its parameters. With *free_form* it runs nothing and works
    from the step's text.
    """
    invoke = command
    if script_path and not command and not free_form:
        is_workflow = step == 1 and WORKFLOW_NAME.match(script_path)
        invoke = (
            str(Command("start", script_path, params=context_vars or {}))
            if is_workflow
            else format_invoke_command(script_path, step, total_steps)
        )
    if not invoke and not free_form:
        raise ValueError("an agent that is not free-form needs a script or a command")
    lines = [_context(context_vars)] if context_vars else []
    if invoke:
        lines.append(element("invoke", Verbatim(invoke)))
    lines.append(element("instruction", _LAUNCH if invoke else _LAUNCH_FREE))
    mode = "free-form" if free_form else "script"
    return block("subagent_dispatch", lines, agent=agent, mode=mode, model=model)


_LAUNCH = (
    "Launch one agent of this kind. Its prompt begins with the command in invoke, to be run before "
    "anything else, and goes on with the context, word for word. What it has to do is printed by the "
    "command: add nothing."
)
_LAUNCH_FREE = (
    "Launch one agent of this kind. Its prompt is the text of this step and the context, word for "
    "word; there is no script to run."
)


def format_model_selection(model: str, reason: str = "") -> Markup:
    """Return which model to launch an agent with, and why; advice, for hosts that let one choose."""
    about = f"Launch with this model where the host lets you choose{f': {reason}' if reason else '.'}"
    return element("model_selection", about, model=model)


def format_parallel_dispatch(dispatches: Sequence[str], join: str = "all") -> Markup:
    """Return several dispatches that are launched at once; *join* is ``all``, ``any`` or ``at least N``."""
    lines = [element("instruction", _at_once(len(dispatches), join)), *dispatches]
    return block("parallel_dispatch", lines, count=len(dispatches), join=join)


def format_template_dispatch(
    agent: AgentRole | str,
    template: str,
    targets: Sequence[Mapping[str, object]],
    *,
    commands: Sequence[str] = (),
    join: str = "all",
    model: str | None = None,
) -> Markup:
    """Return one prompt for many targets: an agent each, ``$name`` standing for the target's value.

    *commands* are what each runs first, one for each target. Every ``$name`` of *template* must have
    a value in every target.
    """
    names = placeholders(template)
    for target in targets:
        if not names <= target.keys():
            raise ValueError(f"a target has no value for {listed(sorted(names - target.keys()))}")
    first = _first_commands(commands, len(targets))
    how = f"{_at_once(len(targets), join)} The prompt of each: {_BEGINNING if commands else ''}{_FILLED}"
    lines: list[str] = [element("instruction", how), element("template", template)]
    for number, (target, invoke) in enumerate(zip(targets, first, strict=True), 1):
        lines.append(block("target", [*invoke, *_variables(target)], n=number))
    return block("template_dispatch", lines, agent=agent, count=len(targets), join=join, model=model)


def format_roster_dispatch(
    agent: AgentRole | str,
    shared_context: str,
    tasks: Mapping[str, str],
    *,
    commands: Sequence[str] = (),
    join: str = "all",
    model: str | None = None,
) -> Markup:
    """Return what all agents have to know, once, and a task for each of them, by name.

    *commands* are what each runs first, one for each task, in the order of *tasks*.
    """
    first = _first_commands(commands, len(tasks))
    how = f"{_at_once(len(tasks), join)} The prompt of each: {_BEGINNING if commands else ''}{_SHARED}"
    lines: list[str] = [element("instruction", how), element("shared_context", shared_context)]
    for (name, task), invoke in zip(tasks.items(), first, strict=True):
        lines.append(block("task", [*invoke, task], name=name))
    return block("roster_dispatch", lines, agent=agent, count=len(tasks), join=join, model=model)


_BEGINNING = "first the command in its invoke, to be run before anything else; then "
_FILLED = "the template, every $name in it replaced by the value that its target gives."
_SHARED = "the shared context, word for word, then its own task and no other."


def format_conditional_dispatch(condition: str, dispatch: str, otherwise: str = "") -> Markup:
    """Return a dispatch that is made only where *condition* holds; without *otherwise*, nothing else is."""
    return block(
        "conditional_dispatch",
        [
            element("when", condition),
            block("then", [dispatch]),
            element("otherwise", otherwise or "Launch nothing and go on."),
        ],
    )


def format_orchestrator_constraint() -> Markup:
    """Return what the agent that launches others leaves to them."""
    lines = (
        "You direct this work; you do not do it.",
        "Launch the agents, hand on what they need word for word, report what they return.",
        "Reading into the matter, editing and mending are theirs, however small it looks.",
        "What you do here in passing is reviewed by nobody.",
    )
    return block("orchestrator_constraint", lines)


def _context(values: Mapping[str, object]) -> Markup:
    return block("context", _variables(values))


def _variables(values: Mapping[str, object]) -> list[str]:
    return [element("var", in_words(value), name=name) for name, value in values.items()]


def _first_commands(commands: Sequence[str], count: int) -> list[list[str]]:
    if not commands:
        return [[] for _ in range(count)]
    if len(commands) != count:
        raise ValueError(f"{len(commands)} commands for {count} agents")
    return [[element("invoke", Verbatim(command))] for command in commands]


def _at_once(count: int, join: str) -> str:
    waits = {"all": "all of them have returned", "any": "one of them has returned a result"}
    until = waits.get(join, f"{join} of them have returned a result")
    return (
        f"Launch all {count} at once, in one message, and none after looking at another's result. "
        f"Go on when {until}."
    )
