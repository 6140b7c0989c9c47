"""`flow handoff convert`."""

from __future__ import annotations

import os
from datetime import datetime

import click

from flowrail.cli import options, output
from flowrail.command import Command, Hint
from flowrail.errors import UsageError
from flowrail.handoff.errors import (
    EXPIRED,
    INTEGRITY,
    MOST_TOLD,
    errors,
    refuse,
)
from flowrail.handoff.payload.convert import convert
from flowrail.handoff.payload.document import FORMS, read_file, render
from flowrail.handoff.payload.validate import SCHEMAS, Asked, check
from flowrail.operations.environment import Here


@click.command("convert", epilog=options.examples("flow handoff convert handoff-payload.yaml --to 3.0"))
@click.argument("file")
@click.option(
    "--to", "version", required=True, type=click.Choice([*SCHEMAS, "1.2"]), help="The version wanted."
)
@click.option(
    "--format", "form", type=click.Choice(["yaml", "json"]), help="The form (default: the version's)."
)
@click.option("-o", "--output", "target", metavar="FILE", help="Write it there instead of printing it.")
@click.option("--force", is_flag=True, help="Convert it though its hash is not that of its content.")
@options.as_json
def command(
    file: str, version: str, form: str | None, target: str | None, force: bool, as_json: bool
) -> None:
    """Turn a payload into one of another version

    Tells which fields that adds and which are lost. Hash and size are made anew, so a payload whose
    own do not fit is refused unless forced.
    """
    payload = read_file(os.path.abspath(file))
    asked = Asked(datetime.fromisoformat(Here().now))
    fine = {EXPIRED, INTEGRITY} if force else {EXPIRED}
    wrong = [each for each in errors(check(payload, asked).problems) if each.kind not in fine]
    if wrong:
        raise refuse(
            f"{file} is not converted",
            wrong,
            hint=Hint("see what is wrong: ", Command("handoff validate", file)),
        )
    made = convert(payload.version, payload.handoff, version)
    after = refuse_if_unfit(made.version, render(made.handoff, form or FORMS[version]), asked)
    if target is not None:
        if os.path.lexists(target):
            raise UsageError(f"{target} is there already", hint="name another file")
        output.to_file(target, after, mode=0o600)
    if as_json:
        output.data(
            {
                "version": made.version,
                "ways": list(made.ways),
                "added": list(made.added),
                "lost": list(made.lost),
                "handoff": made.handoff,
                "file": target,
            }
        )
        return
    output.notes([f"added {each}" for each in made.added])
    output.notes([f"lost {each}" for each in made.lost[:MOST_TOLD]])
    if len(made.lost) > MOST_TOLD:
        output.notes([f"lost {len(made.lost) - MOST_TOLD} more; --json names them all"])
    if target is None:
        output.exact(after.decode().rstrip("\n"))
    else:
        output.text(f"{target} is a payload of version {made.version}")


def refuse_if_unfit(version: str, data: bytes, asked: Asked) -> bytes:
    """Return *data* if it is a payload of that version; what does not fit there is named."""
    from flowrail.handoff.payload.document import read

    found = check(read(data, source=f"the payload as {version}"), asked)
    wrong = [each for each in errors(found.problems) if each.kind != EXPIRED]
    if wrong:
        raise refuse(
            f"it does not fit version {version}", wrong, hint="mend the payload that it is made from"
        )
    return data
