"""Rare situations: interrupted and forged handoffs, receivers at the same moment, the keys of the JSON answers."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from support.handoffs import handoffs_folder, send, session, target
from support.sandbox import flow

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
    (folder / "handoff.json").unlink(missing_ok=True)
    rewritten(
        folder / "journal.jsonl", [('"phase":"transfer"', '"phase":"selection"'), (sent["sha256"], "0" * 64)]
    )

    codes = {finding["code"] for finding in json.loads(flow("audit", "verify", "--json").out)["findings"]}

    assert codes == {"PHASES_OUT_OF_ORDER", "DIGESTS_DIFFER", "PAYLOAD_CHANGED"}
