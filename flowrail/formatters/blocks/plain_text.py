"""Steps of scripts as plain text, and the commands that print them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from flowrail.machines.script_steps import QRState
from flowrail.text.safe_text import one_line, visible


def format_text_output(
    step: int, total: int, title: str, actions: Sequence[str], brief: str = "", next_title: str | None = None
) -> str:
    """Return a step: its number and title, its purpose, its actions, and the title of the next step.

    Without *next_title* it is the last step.
    """
    parts = [_underlined(f"Step {step} of {total}: {one_line(title)}")]
    if brief:
        parts.append(visible(brief))
    parts.append(visible("\n".join(actions)))
    parts.append("This is the last step." if next_title is None else f"Next step: {one_line(next_title)}")
    return "\n\n".join(parts)


def format_step(body: str, next_command: str = "", title: str = "") -> str:
    """Return the text of a step and its next command; without a command it is the last step."""
    header = [_underlined(one_line(title))] if title else []
    ending = (
        f"When this is done, run exactly this:\n    {one_line(next_command)}"
        if next_command
        else "This is the last step. Run nothing after it."
    )
    return "\n\n".join([*header, visible(body), ending])


def format_invoke_command(
    script: str, step: int, total: int | None = None, *, qr: QRState | None = None
) -> str:
    """Return the command that prints one step of a script, on one line, quoted for a shell.

    *script* is a file (``….py``), a module (``skills.planner.gate``), or the name of a skill, whose step
    ``flow show`` prints. *qr* adds the state of the review loop, for a skill its round.
    """
    is_file, is_module = script.endswith(".py"), "." in script and "/" not in script
    if is_file or is_module:
        words = ["python3", *([] if is_file else ["-m"]), script, "--step", str(step)]
    else:
        words = ["flow", "show", script, str(step)]
    if total is not None:
        words += ["--total-steps", str(total)]
    if qr is not None and words[0] == "flow":
        words += ["--attempt", str(qr.iteration)]
    elif qr is not None:
        words += ["--qr-iteration", str(qr.iteration)]
        words += ["--qr-fail"] if qr.failed else []
        words += ["--qr-status", str(qr.status)] if qr.status else []
    return visible(shlex.join(words)).replace("\n", "⟨U+000A⟩")


def _underlined(title: str) -> str:
    return f"{title}\n{'=' * len(title)}"
