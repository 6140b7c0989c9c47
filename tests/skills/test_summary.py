"""Skills in sight as plain data: everything there is to see, and nothing run for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from support.sandbox import ASKING, BUNDLED, SMALL, home_skills, put_python, put_skill

from flowrail.discovery.locations import Root, skill_roots
from flowrail.skills import summary


def roots() -> tuple[Root, ...]:
    return skill_roots(os.getcwd(), os.environ["HOME"], os.environ)


def test_every_skill_is_an_item_whatever_its_state() -> None:
    put_skill("asking", ASKING)
    put_skill("asking", where=home_skills())
    put_skill("broken", "name: [")
    put_skill("wrong", SMALL.replace("ok: second", "ok: nowhere"))
    put_skill("with-agents", texts={"workflows/look.yaml": SMALL.replace("NAME", "NAME/look")})
    folder = put_skill("folder")
    (folder / "workflow.yaml").unlink()
    (folder / "workflow.yaml").mkdir()

    items = {item["name"]: item for item in summary.items(roots())}

    assert list(items) == sorted([*BUNDLED, "asking", "broken", "folder", "with-agents", "wrong"])
    assert {name: item["errors"] for name, item in items.items() if item["errors"]} == {
        "broken": 1,
        "folder": 1,
        "wrong": 1,
    }
    assert items["asking"]["hides"] == [{"source": "global", "path": str(home_skills() / "asking")}]
    assert [param["name"] for param in items["asking"]["params"]] == ["topic", "size"]
    assert items["with-agents"]["workflows"] == ["with-agents/look"]
    assert items["with-agents"]["description"] == "A small procedure. For trying things."
    assert items["decision-critic"]["total_steps"] == 7
    assert json.dumps(list(items.values()))


def test_one_workflow_is_shown_step_by_step() -> None:
    put_skill("asking", ASKING)

    shown = summary.show("asking", roots())

    look, tell = shown["steps"]
    assert shown["entry"] == "look"
    assert (look["number"], look["title"], look["limit"], look["decides"]) == (1, "Look at $topic", 3, True)
    assert [value["name"] for value in look["reports"]] == ["sure", "where", "note"]
    assert look["rules"] == [{"if": "sure == 'high'", "outcome": "ok"}, {"if": None, "outcome": "iterate"}]
    assert look["next"] == {"ok": "tell", "iterate": "look"}
    assert tell["next"] == {"ok": None, "fail": None}
    assert json.dumps(shown)


def test_a_python_workflow_is_read_as_text() -> None:
    canary = Path.cwd() / "canary"
    put_python("py", before=f"open({str(canary)!r}, 'w').close()\n")

    shown = summary.show("py", roots())
    summary.items(roots())
    definition, findings = summary.definition_of("py", roots())

    assert [step["id"] for step in shown["steps"]] == ["first", "second"]
    assert shown["steps"][0]["decides"]
    assert definition.total_steps == 2
    assert all(finding.severity != "error" for finding in findings)
    assert not canary.exists()


def test_mistakes_are_shown_with_the_workflow() -> None:
    put_skill("wrong", SMALL.replace("ok: second", "ok: nowhere"))

    shown = summary.show("wrong", roots())

    assert [finding["code"] for finding in shown["findings"]] == ["FR102"]
    assert shown["errors"] == 1
