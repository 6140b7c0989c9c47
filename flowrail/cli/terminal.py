"""Ask a person at the terminal. Piped input cannot answer, and without a terminal the question is refused."""

from __future__ import annotations

import os
import sys

from flowrail.command import Hint
from flowrail.errors import TrustError


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
        raise TrustError("it was not allowed", hint=hint, **details)
