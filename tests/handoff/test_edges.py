"""Rare situations: interrupted and forged handoffs, receivers at the same moment, the keys of the JSON answers."""

from __future__ import annotations

import json
from typing import Any

from support.forged import rewritten
from support.handoffs import handoffs_folder, send, session, target
from support.sandbox import flow


def test_a_rewritten_journal_is_detected() -> None:
    target("digger")
    sent = send("digger", session())
    folder = handoffs_folder() / sent["handoff"]

    def change(records: list[dict[str, Any]]) -> None:
        text = json.dumps(records).replace('"phase": "transfer"', '"phase": "selection"')
        records[:] = json.loads(text.replace(sent["sha256"], "0" * 64))

    rewritten(folder, change)

    codes = {finding["code"] for finding in json.loads(flow("audit", "verify", "--json").out)["findings"]}

    assert codes == {"PHASES_OUT_OF_ORDER", "DIGESTS_DIFFER", "PAYLOAD_CHANGED"}
