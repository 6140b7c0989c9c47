"""The step of a script as blocks: its number, its actions, and the next command.

`flow step` prints the same blocks of a step of a session.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.formatters.block import Block, as_xml
from flowrail.machines.script_steps import BranchCommand, FlatCommand, NextCommand, QRStatus
from flowrail.text.safe_text import Markup, Verbatim, block, content, element


def format_step_header(script: str, step: int, total: int, title: str, phase: str | None = None) -> Markup:
    """Return the title of a step with its number, counted from 1, and the number of steps."""
    return Markup(
        as_xml(Block("step_header", title, {"script": script, "step": step, "total": total, "phase": phase}))
    )


def format_current_action(actions: Sequence[str]) -> Markup:
    """Return the actions of a step, one per line: plain strings are escaped, blocks are not."""
    return Markup(as_xml(Block("current_action", [Markup(content(action)) for action in actions])))


def format_invoke_after(command: NextCommand) -> Markup:
    """Return the next command, or one command for each result of a review; an empty text after the last step."""
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
    """Return the next command a second time, to be read again before it is run; an empty text after the last step.

    Models follow an instruction more closely if they read it twice: RE2, re-reading, Xu et al. 2024.
    """
    match command:
        case FlatCommand():
            return block(
                "next", ["Read the command again, then run it unchanged:", Verbatim(command.command)]
            )
        case BranchCommand():
            lines = [
                "Read both commands again, then run the one that applies, unchanged.",
                Verbatim(f"Passed: {command.if_pass}"),
                Verbatim(f"Did not pass: {command.if_fail}"),
            ]
            return block("next", lines)
    return Markup("")


def format_gate_result(status: QRStatus | str, message: str) -> Markup:
    """Return the decision of a gate."""
    return element("gate_result", message, status=status)


def format_xml_mandate() -> Markup:
    """Return how to read the output of each step, for the first step."""
    lines = (
        "Each command prints one step.",
        "1. Do everything in current_action, and nothing of a later step.",
        (
            "2. Then run the command in invoke_after, word for word. If there are two, run if_pass if the "
            "work or its review passed, and if_fail if it did not."
        ),
        "3. next repeats the command for a second reading. Run it only once.",
        "The command prints the next step. Do not skip, change or guess commands.",
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
    """Return a whole step as one element; *mandate* adds how to read it, for the first step."""
    parts = [
        format_step_header(script, step, total, title, phase),
        format_xml_mandate() if mandate else "",
        format_gate_result(*gate_result) if gate_result else "",
        format_current_action(actions),
        format_invoke_after(next_command),
        format_next_block(next_command),
    ]
    return Markup(as_xml(Block("step_output", [part for part in parts if part])))
