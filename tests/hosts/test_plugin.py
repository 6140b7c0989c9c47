"""The plugin has the documented form, is generated from the same sources, and contains nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import BUNDLED

from flowrail import __version__
from flowrail.discovery.locations import bundled_folder
from flowrail.hosts.host import CLAUDE_CODE
from flowrail.hosts.settings import hooks
from flowrail.text import yaml as yaml_text

SCHEMAS = Path(__file__).parent / "schemas"
FILES = {
    "marketplace.json": ".claude-plugin/marketplace.json",
    "plugin.json": "plugins/flowrail/.claude-plugin/plugin.json",
    "hooks.json": "plugins/flowrail/hooks/hooks.json",
}


@pytest.fixture
def built() -> Path:
    return Path(__file__).parents[2]


def problems(schema: str, value: object) -> list[str]:
    jsonschema: Any = pytest.importorskip("jsonschema", reason="jsonschema comes with the extra `mcp`")
    checker = jsonschema.Draft202012Validator(json.loads((SCHEMAS / schema).read_text()))
    return [error.message for error in checker.iter_errors(value)]


@pytest.mark.parametrize("schema", FILES)
def test_its_documents_have_the_documented_form(schema: str, built: Path) -> None:
    assert problems(schema, json.loads((built / FILES[schema]).read_text())) == []


def test_names_versions_and_paths_agree(built: Path) -> None:
    market, plugin, told_hooks = (json.loads((built / path).read_text()) for path in FILES.values())
    (entry,) = market["plugins"]

    assert entry["name"] == plugin["name"] == "flowrail"
    assert entry["version"] == plugin["version"] == __version__
    assert (built / entry["source"] / ".claude-plugin" / "plugin.json").is_file()
    assert told_hooks["hooks"] == {name: [entry] for name, entry in hooks(CLAUDE_CODE).items()}
    assert "hooks" not in plugin, "the host finds hooks/hooks.json by itself, and refuses it twice"


def test_its_skills_are_the_bundled_cards(built: Path) -> None:
    skills = built / "plugins" / "flowrail" / "skills"

    assert sorted(folder.name for folder in skills.iterdir()) == sorted(BUNDLED)
    for name in BUNDLED:
        assert [file.name for file in (skills / name).iterdir()] == ["SKILL.md"]
        text = (skills / name / "SKILL.md").read_bytes()
        assert text == (Path(bundled_folder()) / name / "SKILL.md").read_bytes()
        head = yaml_text.load(text.decode().split("---\n")[1], source=name).value
        assert isinstance(head, dict)
        assert head["name"] == name
        assert 0 < len(str(head["description"])) <= 1024
