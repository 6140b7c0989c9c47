"""What the room promises of itself: which modules are loaded when, and which codes there are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.skills import put

import flowrail
from flowrail.discovery.diagnostics import CODES

ROOM = Path(flowrail.__file__).parent / "discovery"
HEAVY = {
    "cattrs",
    "click",
    "dataclasses",
    "inspect",
    "pydantic",
    "ruamel",
    "statemachine",
    "subprocess",
    "yaml",
}


def loaded_after(code: str, cwd: Path) -> set[str]:
    """Return the heavy modules that a fresh interpreter has loaded after running *code*."""
    command = [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=True)
    return HEAVY & set(done.stdout.split())


@pytest.mark.parametrize("registry", [False, True])
def test_discovering_loads_neither_pydantic_nor_ruamel(tree: Path, registry: bool) -> None:
    put(tree / ".claude/skills", "one")
    if registry:
        (tree / ".claude/handoff-registry.yaml").write_text("workflows: []\n")
    code = f"from flowrail.discovery.index import discover; discover('.', {str(tree)!r}, {{}})"

    assert loaded_after(code, tree) == {"yaml"}


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
