"""`flow attest`: in-toto statements about the steps of a session."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from flowrail.cli import options, output, output_file
from flowrail.cli.environment import SessionCall, read_text
from flowrail.errors import UsageError, require_extra
from flowrail.evidence.statements import statements
from flowrail.text import json as strict_json
from flowrail.text.phrases import count
from flowrail.text.safe_text import one_line


@SessionCall.command(
    "attest",
    "flow attest planner-k3x9q2 --output planner.intoto.jsonl",
    "flow attest planner-k3x9q2 --key private.pem --output planner.intoto.jsonl",
    "flow attest --verify planner.intoto.jsonl --key public.pem",
)
@options.optional_session
@click.option("--output", "file", metavar="FILE", help="Write to this file instead of standard output.")
@click.option(
    "--key", metavar="PEM", help="Sign with this Ed25519 private key; with --verify, the public key."
)
@click.option("--verify", "checked", metavar="FILE", help="Check the signatures in this file.")
@options.as_json
@options.store
def attest_command(
    call: SessionCall, session_id: str | None, file: str | None, key: str | None, checked: str | None
) -> None:
    """Write what was claimed and checked in a session as in-toto statements

    Without ID, of this conversation's open session.

    One statement for each step, a line each: a test result for a step that demanded evidence, otherwise a
    link. With --key, each is in a DSSE envelope, which needs `pip install 'flowrail[attest]'`. A signature
    says who wrote the statement, not that it is true.
    """
    if checked is not None and (key is None or session_id is not None or file is not None):
        raise UsageError("--verify needs --key, and neither ID nor --output", hint="give the public key")
    lines: list[dict[str, object]] = []
    if checked is None:
        lines = [*statements(call.world.store.records(call.session(session_id)))]
    if key is not None:
        require_extra("attest", "cryptography")
        from flowrail.evidence import envelope  # needs the extra flowrail[attest]

        if checked is not None:
            public = envelope.public_key(read_text(key, what="the public key")[0].encode(), key)
            _show_verified(
                checked, lambda document: envelope.verified(document, public), as_json=call.as_json
            )
            return
        private = envelope.private_key(read_text(key, what="the private key")[0].encode(), key)
        lines = [envelope.signed(statement, private) for statement in lines]
    if call.as_json:
        output.data({"statements": lines})
        return
    document = "".join(f"{json.dumps(line, ensure_ascii=False, sort_keys=True)}\n" for line in lines)
    if file is None:
        output.exact(document.rstrip("\n"))
        return
    output_file.write(file, document.encode())
    output.notes([f"{count(len(lines), 'statement')} written to {file}"])


def _show_verified(file: str, verified: Callable[[object], dict[str, Any]], *, as_json: bool) -> None:
    text = read_text(file, what="the attestation")[0]
    found = [
        verified(strict_json.load(line, source=f"{file}:{number}"))
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip()
    ]
    if not found:
        raise UsageError(f"{file} contains no attestation", hint="write one with `flow attest ID --key PEM`")
    if as_json:
        output.data({"statements": found})
        return
    for statement in found:
        about = statement["predicate"]
        step = about.get("step") or about.get("name")
        output.text(one_line(f"{statement['subject'][0]['name']}: {step} {about.get('result', '')}".rstrip()))
    output.text(f"{count(len(found), 'statement')}: signed with this key, unchanged")
