"""The frame of a script's step: where it stands, what to do, and the command that follows."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.formatters.blocks.elements import block, element
from flowrail.formatters.blocks.plain_text import format_invoke_command
from flowrail.machines.definition.gates import QRStatus
from flowrail.machines.definition.script_steps import (
    BranchCommand,
    BranchRouting,
    FlatCommand,
    LinearRouting,
    NextCommand,
    Routing,
)
from flowrail.text.markup import Markup, Verbatim


def format_step_header(script: str, step: int, total: int, title: str, phase: str | None = None) -> Markup:
    """Return which step of how many this is, counted from 1."""
    return element("step_header", title, script=script, step=step, total=total, phase=phase)


def format_current_action(actions: Sequence[str]) -> Markup:
    """Return what to do now: plain strings, escaped, and blocks as they are, a line each."""
    return block("current_action", actions)


def format_invoke_after(command: NextCommand) -> Markup:
    """Return the command to run afterwards, or the two of which one is; nothing after the last step."""
    match command:
        case FlatCommand():
            return element("invoke_after", Verbatim(command.command))
        case BranchCommand():
            lines = [
                element("if_pass", Verbatim(command.if_pass)),
                element("if_fail", Verbatim(command.if_fail)),
            ]
            return block("invoke_after", lines)
    return Markup("")


def format_next_block(command: NextCommand) -> Markup:
    """Return the command once more, to be read again before it is run; nothing after the last step.

    Read twice, an instruction is followed more closely, since the second reading has the whole of
    the first in view: RE2, re-reading, Xu et al. 2024.
    """
    match command:
        case FlatCommand():
            return block("next", ["Read it again, then run it as it stands:", Verbatim(command.command)])
        case BranchCommand():
            lines = [
                "Read both again, then run the one that fits, as it stands.",
                Verbatim(f"Passed: {command.if_pass}"),
                Verbatim(f"Did not pass: {command.if_fail}"),
            ]
            return block("next", lines)
    return Markup("")


def format_gate_result(status: QRStatus | str, message: str) -> Markup:
    """Return what a gate came to."""
    return element("gate_result", message, status=status)


def format_xml_mandate() -> Markup:
    """Return how to read what is printed, once, in the first step."""
    lines = (
        "One step is printed at a time.",
        "1. Do what current_action says, all of it, and nothing of a later step.",
        (
            "2. Then run the command in invoke_after, word for word. Where there are two, run if_pass "
            "if the work or its review passed, and if_fail if it did not."
        ),
        "3. next repeats the command for a second reading. It is run once.",
        "The command prints the next step. None is skipped, changed or guessed.",
    )
    return block("xml_mandate", lines)


def format_step_output(
    script: str,
    step: int,
    total: int,
    title: str,
    actions: Sequence[str],
    next_command: NextCommand = None,
    phase: str | None = None,
    *,
    gate_result: tuple[QRStatus | str, str] | None = None,
    mandate: bool = False,
) -> Markup:
    """Return a whole step as one element; *mandate* puts in how to read it, for the first step."""
    parts = [
        format_step_header(script, step, total, title, phase),
        format_xml_mandate() if mandate else "",
        format_gate_result(*gate_result) if gate_result else "",
        format_current_action(actions),
        format_invoke_after(next_command),
        format_next_block(next_command),
    ]
    return block("step_output", [part for part in parts if part])


def next_command(routing: Routing, *, script: str, step: int, total: int | None = None) -> NextCommand:
    """Return the command that a step's *routing* stands for, of the step with number *step*."""
    match routing:
        case LinearRouting():
            return FlatCommand(format_invoke_command(script, step + 1, total))
        case BranchRouting():
            return BranchCommand(
                format_invoke_command(script, routing.if_pass, total),
                format_invoke_command(script, routing.if_fail, total),
            )
    return None
