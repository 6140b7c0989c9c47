"""Rare situations: interrupted and forged handoffs, receivers at the same moment, the keys of the JSON answers."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from support.golden import as_in_golden_file
from support.handoffs import handoffs_folder, ours, receive, send, session, target
from support.sandbox import flow, refused, told

from flowrail.storage.ownership import Owner


def rewritten(path: Path, changes: list[tuple[str, str]]) -> None:
    """Rewrite a journal with valid hashes, as an attacker without the user's key could."""
    before, lines = "", []
    for line in path.read_text().splitlines():
        body = json.loads(line)
        body.pop("hash")
        text = json.dumps({**body, "prev": before}, separators=(",", ":"))
        for old, new in changes:
            text = text.replace(old, new)
        before = sha256(text[:-1].encode()).hexdigest()
        lines.append(f'{text[:-1]},"hash":"{before}"}}\n')
    path.write_text("".join(lines))
    Owner(str(Path.home() / ".local" / "state" / "flowrail")).claim(
        str(path.parent.absolute()), json.loads(lines[0])["hash"]
    )


def test_a_rewritten_journal_is_detected() -> None:
    target("digger")
    sent = send("digger", session())
    folder = handoffs_folder() / sent["handoff"]
    (folder / "handoff.json").unlink()
    rewritten(
        folder / "journal.jsonl", [('"phase":"transfer"', '"phase":"selection"'), (sent["sha256"], "0" * 64)]
    )

    codes = {finding["code"] for finding in json.loads(flow("audit", "verify", "--json").out)["findings"]}

    assert codes == {"PHASES_OUT_OF_ORDER", "DIGESTS_DIFFER", "PAYLOAD_CHANGED"}


def keys_of(value: Any, at: str = "") -> set[str]:
    if isinstance(value, list):
        return set().union(*(keys_of(item, f"{at}[]") for item in value))
    if not isinstance(value, dict) or at.rpartition(".")[2] in {
        "note",
        "details",
        "params",
        "handoff_payload",
        "converted",
    }:
        return set()
    return {f"{at}.{key}" for key in value}.union(
        *(keys_of(item, f"{at}.{key}") for key, item in value.items())
    )


def test_the_keys_of_answers_are_promises() -> None:
    target("digger", requires="[insights.uncertainties]")
    ours("other")
    session_id = session()
    _, error = refused("handoff", "send", "digger", "--session", session_id)
    failed = told("handoff", "status", error["details"]["handoff"])
    sent = send("other", session_id)
    answers = {
        "error": error,
        "send": {**failed, **sent, "failure": failed["failure"]},
        "receive": receive(sent).data["handoff"],
        "check": json.loads(flow("handoff", "check", sent["payload"], "--to", "2.0", "--json").out),
        "audit": told("audit"),
        "verify": told("audit", "verify"),
    }

    keys = {name: sorted(keys_of(answer)) for name, answer in answers.items()}

    assert as_in_golden_file("handoff_keys.json", json.dumps(keys, indent=1))
