"""Blocks that dispatch work to sub-agents: to one or to many at once, and the limits of the dispatching agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowrail.command import Command
from flowrail.formatters.blocks.plain_text import format_invoke_command
from flowrail.machines.dispatch import AgentRole
from flowrail.machines.step import WORKFLOW_NAME
from flowrail.text.phrases import in_words, listed
from flowrail.text.placeholders import placeholders
from flowrail.text.safe_text import Markup, Verbatim, block, element


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
    """Return how to launch one agent: the command that it runs first, and its context.

    The agent runs *command*, such as ``flow step --session …``, or *script_path*: a step of a script or module, or a workflow
    such as ``planner/explore`` with *context_vars* as its parameters. With *free_form* it runs nothing and works
    from the step's text.
    """
    invoke = command
    if script_path and not command and not free_form:
        is_workflow = step == 1 and WORKFLOW_NAME.match(script_path)
        invoke = (
            str(Command("step", script_path, new=True, params=context_vars or {}))
            if is_workflow
            else format_invoke_command(script_path, step, total_steps)
        )
    if not invoke and not free_form:
        raise ValueError("an agent that is not free-form needs a script or a command")
    lines = [_context(context_vars)] if context_vars else []
    if invoke:
        lines.append(element("invoke", Verbatim(invoke)))
    lines.append(element("instruction", _LAUNCH if invoke else _LAUNCH_FREE_FORM))
    mode = "free-form" if free_form else "script"
    return block("subagent_dispatch", lines, agent=agent, mode=mode, model=model)


_LAUNCH = (
    "Launch one agent of this kind. Its prompt is the command in invoke, which it must run first, and "
    "then the context, word for word. The command prints the agent's instructions, so add none."
)
_LAUNCH_FREE_FORM = (
    "Launch one agent of this kind. Its prompt is the text of this step and the context, word for "
    "word. It runs no script."
)


def format_model_selection(model: str, reason: str = "") -> Markup:
    """Return which model to launch an agent with, and why. Hosts without a choice of models ignore it."""
    text = f"Launch with this model if the host lets you choose{f': {reason}' if reason else '.'}"
    return element("model_selection", text, model=model)


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
    """Return one prompt for many targets, one agent each; ``$name`` is replaced by the target's value.

    *commands* are the first commands of the agents, one for each target. Every ``$name`` of *template* must have
    a value in every target.
    """
    names = placeholders(template)
    for target in targets:
        if not names <= target.keys():
            raise ValueError(f"a target has no value for {listed(sorted(names - target.keys()))}")
    first_commands = _first_commands(commands, len(targets))
    instruction = f"{_at_once(len(targets), join)} The prompt of each: {_COMMAND_FIRST if commands else ''}{_FILLED_TEMPLATE}"
    lines: list[str] = [element("instruction", instruction), element("template", template)]
    for number, (target, invoke) in enumerate(zip(targets, first_commands, strict=True), 1):
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
    """Return the shared context of all agents, and a task for each of them, by name.

    *commands* are the first commands of the agents, one for each task, in the order of *tasks*.
    """
    first_commands = _first_commands(commands, len(tasks))
    instruction = f"{_at_once(len(tasks), join)} The prompt of each: {_COMMAND_FIRST if commands else ''}{_CONTEXT_AND_TASK}"
    lines: list[str] = [element("instruction", instruction), element("shared_context", shared_context)]
    for (name, task), invoke in zip(tasks.items(), first_commands, strict=True):
        lines.append(block("task", [*invoke, task], name=name))
    return block("roster_dispatch", lines, agent=agent, count=len(tasks), join=join, model=model)


_COMMAND_FIRST = "first the command in its invoke, which it must run first; then "
_FILLED_TEMPLATE = "the template, with each $name replaced by its target's value."
_CONTEXT_AND_TASK = "the shared context, word for word, then its own task and no other."


def format_conditional_dispatch(condition: str, dispatch: str, otherwise: str = "") -> Markup:
    """Return a dispatch for the case that *condition* holds, and what to do in the other case."""
    return block(
        "conditional_dispatch",
        [
            element("when", condition),
            block("then", [dispatch]),
            element("otherwise", otherwise or "Launch nothing and continue."),
        ],
    )


def format_orchestrator_constraint() -> Markup:
    """Return which work the agent that launches other agents must leave to them."""
    lines = (
        "You direct this work; you do not do it.",
        "Launch the agents, pass on their context word for word, and report what they return.",
        "Research, edits and fixes are their work, however small they look.",
        "Nobody reviews changes that you make yourself.",
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
    conditions = {"all": "all of them have returned", "any": "one of them has returned a result"}
    condition = conditions.get(join, f"{join} of them have returned a result")
    return (
        f"Launch all {count} at once, in one message. Do not wait for the result of one before you launch "
        f"another. Continue when {condition}."
    )
