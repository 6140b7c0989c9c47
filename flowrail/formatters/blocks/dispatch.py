"""Blocks that dispatch work to a sub-agent, and the limits of the dispatching agent."""

from __future__ import annotations

from collections.abc import Mapping

from flowrail.command import Command
from flowrail.formatters.blocks.plain_text import format_invoke_command
from flowrail.machines.dispatch import AgentRole
from flowrail.machines.step import WORKFLOW_NAME
from flowrail.text.phrases import in_words
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
    variables = [element("var", in_words(value), name=name) for name, value in (context_vars or {}).items()]
    lines = [block("context", variables)] if variables else []
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


def format_orchestrator_constraint() -> Markup:
    """Return which work the agent that launches other agents must leave to them."""
    lines = (
        "You direct this work; you do not do it.",
        "Launch the agents, pass on their context word for word, and report what they return.",
        "Research, edits and fixes are their work, however small they look.",
        "Nobody reviews changes that you make yourself.",
    )
    return block("orchestrator_constraint", lines)
