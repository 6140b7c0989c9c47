"""`flow skill trust`."""

from __future__ import annotations

import os
import sys

import click

from flowrail import approval
from flowrail.cli import options, output
from flowrail.command import Hint
from flowrail.errors import TrustError
from flowrail.operations.environment import Environment
from flowrail.operations.skills.trust import describe, find_folder
from flowrail.skills.catalog import named_root
from flowrail.text.safe_text import one_line


@click.command("trust", epilog=options.examples("flow skill trust my-skill"))
@options.skill
@click.option("--digest", metavar="HEX", help="Approve without asking if the folder has this digest.")
@options.as_json
@options.root
def command(skill: str, digest: str | None, as_json: bool, roots: tuple[str, ...]) -> None:
    """Approve a project's skill, so that it may run

    Lists the files, marks what changed since the last approval, and asks at the terminal.
    Exactly this content is approved; any change needs a new approval. In CI, where nobody
    can answer, --digest names the content that a person has looked at.
    """
    here = Environment(roots=roots)
    found = find_folder(skill, here.roots)
    now = approval.snapshot(found.folder)
    lines = describe(now, approval.approval_of(found.folder, here.state))
    shown = "\n".join(f"{'  ' * line.startswith(' ')}{one_line(line)}" for line in lines)
    if not as_json:
        output.text(shown)
    if digest is None:
        seen = not as_json and _is_shown_to_whom_we_ask()
        _ask(skill, "" if seen else shown, now.digest, approval.how_to_approve(skill, named_root(found)))
    elif digest != now.digest:
        raise TrustError(
            f"the folder's digest is {now.digest}, not {digest[:80]}",
            hint="read what changed before you approve it",
            digest=now.digest,
        )
    approval.approve(now, here.state, at=here.now)
    if as_json:
        about_it = {"skill": skill, "folder": now.folder, "digest": now.digest, "files": list(now.files)}
        output.data({**about_it, "allowed": True})
        return
    back = approval.typed("skill untrust", skill, named_root(found))
    output.text(f"{skill} may run as it is now; `{back}` takes that back")


def _is_shown_to_whom_we_ask() -> bool:
    """Return whether standard output is the very terminal that is asked at: another one may be anybody's."""
    try:
        return sys.stdout.isatty() and os.tcgetpgrp(sys.stdout.fileno()) == os.getpgrp()
    except OSError:
        return False


def _ask(skill: str, shown: str, digest: str, hint: str | Hint) -> None:
    """Ask on the terminal itself, so that nothing piped in can answer; *hint* says how a person comes here.

    Where the answer goes elsewhere the person is *shown* what it is about on the terminal too.
    """
    try:
        with open("/dev/tty", "r+b", buffering=0) as terminal:
            terminal.write(f"{shown}\n".encode() if shown else b"")
            terminal.write(f"Allow skill {one_line(skill)[:200]} to run its code as you? Type yes: ".encode())
            answer = terminal.readline(64).strip().lower()
    except OSError:
        raise TrustError(
            "a person must approve this, and there is no terminal to ask on",
            hint=hint,
            digest=digest,
        ) from None
    if answer != b"yes":
        raise TrustError("it was not allowed", hint=hint, digest=digest)
