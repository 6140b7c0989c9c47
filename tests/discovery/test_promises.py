"""Which codes there are."""

import re
from pathlib import Path

import flowrail
from flowrail.discovery.diagnostics import CODES

ROOM = Path(flowrail.__file__).parent / "discovery"


def test_every_code_has_its_hint_and_every_hint_its_code() -> None:
    text = "".join(path.read_text() for path in ROOM.rglob("*.py") if path.name != "diagnostics.py")
    used = set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+|NOT_UTF8|SHADOWED|UNREADABLE)"', text))

    assert used - set(CODES) == {
        "CLAUDE_CONFIG_DIR",
        *("NONE_INSTALLED", "NONE_ACCEPTS", "NONE_FITS"),
        *(
            "REGISTRY_CHANGED",
            "REGISTRY_INVALID",
        ),
    }
    assert set(CODES) <= used
