"""The terminal of a person: whether there is one, whether it is coloured, and questions to the person.

Piped input cannot answer a question, and without a terminal the question is refused.
"""

from __future__ import annotations

import os
import sys

import click

from flowrail.command import Hint
from flowrail.errors import TrustError

COLORS = ("auto", "always", "never")
_COLOR, _UTC = "flowrail.color", "flowrail.utc"


def keep_color(context: click.Context, _param: click.Parameter, value: str | None) -> None:
    """Keep the value of `--color` for the command that runs."""
    if value is not None:
        context.meta[_COLOR] = value


def keep_utc(context: click.Context, _param: click.Parameter, value: bool) -> None:
    """Keep whether `--utc` was given for the command that runs."""
    context.meta[_UTC] = value


def shows_exact_times() -> bool:
    """Return whether times are printed as they are, with `--utc`."""
    context = click.get_current_context(silent=True)
    return bool(context is not None and context.meta.get(_UTC))


def color_option() -> click.Option:
    """Return `--color` as an option of the whole command line."""
    return click.Option(
        ["--color"],
        type=click.Choice(COLORS),
        callback=keep_color,
        expose_value=False,
        help="When to use colour.",
    )


def is_for_people() -> bool:
    """Return whether output adapts to a terminal: it is one, or `--color always` asks for it."""
    return sys.stdout.isatty() or _color() == "always"


def width() -> int:
    """Return the columns of the terminal."""
    import shutil  # 1.5 ms with its compressors, which only output for a terminal needs

    return max(20, shutil.get_terminal_size().columns)


def has_color() -> bool:
    """Return whether a terminal is coloured: not with `--color never`, `NO_COLOR` or a terminal without colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return _color() == "always" or (_color() == "auto" and not plain)


def _color() -> str:
    context = click.get_current_context(silent=True)
    return str(context.meta.get(_COLOR, "auto")) if context is not None else "auto"


def is_shown_to_person() -> bool:
    """Return whether standard output is the terminal that `ask` uses; another terminal may belong to another user."""
    try:
        return sys.stdout.isatty() and os.tcgetpgrp(sys.stdout.fileno()) == os.getpgrp()
    except OSError:
        return False


def ask(question: str, *, shown: str, hint: str | Hint, **details: object) -> None:
    """Ask a question that only `yes` answers; raise `TrustError` with *hint* for any other answer.

    What the question is about is *shown* on the terminal first, unless that is empty.
    """
    try:
        with open("/dev/tty", "r+b", buffering=0) as terminal:
            terminal.write(f"{shown}\n".encode() if shown else b"")
            terminal.write(f"{question} Type yes: ".encode())
            answer = terminal.readline(64).strip().lower()
    except OSError:
        raise TrustError(
            "a person must approve this, and there is no terminal to ask on", hint=hint, **details
        ) from None
    if answer != b"yes":
        raise TrustError("the person did not approve", hint=hint, **details)
