"""A workflow as a Mermaid flowchart: valid for any title, and the same every time."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from support.chromium import Tab
from support.drawn_workflows import FEW, ODD
from support.workflows import step, workflow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers.mermaid import render
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.workflow import Workflow

ROOT = Path(__file__).parents[3]
LABEL = r'"(?:[^"#\\<>|\[\]{}&;`*:\x00-\x1f\x7f-\x9f]|#\d+;|<br/>)+"'
SHAPES = (
    rf"\({LABEL}\)",
    rf"\(\({LABEL}\)\)",
    rf"\(\(\({LABEL}\)\)\)",
    rf"\{{\{{{LABEL}\}}\}}",
    rf"\{{{LABEL}\}}",
    rf"\[/{LABEL}/\]",
    rf"\[\[{LABEL}\]\]",
    rf"\[/{LABEL}\\\]",
)
LINE = re.compile(
    r"flowchart TD"
    rf"|    subgraph p\d+\[{LABEL}\]"
    r"|    end"
    rf"|    [se]\d+(?:{'|'.join(SHAPES)})"
    rf"|    s\d+ (?:-->|==>|-\.->)(?:\|{LABEL}\|)? [se]\d+"
    r"|    classDef [a-z]+ [a-z-]+:[#a-z0-9. ]+(?:,[a-z-]+:[#a-z0-9. ]+)*"
    r"|    class [se\d,]+ [a-z]+"
)


def well_formed(text: str) -> bool:
    """Return whether every line has a known form and subgraphs are closed."""
    lines = text.split("\n")
    depth = 0
    for line in lines:
        depth += line.startswith("    subgraph") - (line == "    end")
        if not LINE.fullmatch(line) or depth not in {0, 1}:
            return False
    return depth == 0


def test_a_workflow_is_drawn_in_the_order_of_its_steps() -> None:
    definition = workflow(
        step("look", title="Look", phase="one", limit=3, next={"ok": "judge", "iterate": "look"}),
        step(
            "judge",
            title="Judge",
            phase="one",
            gate=GateConfig("Judge", review="look"),
            next={"ok": None, "fail": "look"},
        ),
    )

    assert render(picture(definition)).splitlines() == [
        "flowchart TD",
        '    s0(("start"))',
        '    subgraph p2["one"]',
        '    s1("1 · Look")',
        '    s2{"2 · Judge<br/>gate on look"}',
        '    e3((("completed")))',
        "    end",
        "    s0 --> s1",
        '    s1 -->|"ok"| s2',
        '    s1 -->|"iterate (at most 3 attempts, then ok)"| s1',
        '    s2 -->|"ok"| e3',
        '    s2 -->|"fail (at most 5 attempts, then the user decides)"| s1',
    ]


@FEW
@given(ODD)
def test_every_workflow_has_a_well_formed_picture(definition: Workflow) -> None:
    text = render(picture(definition))

    assert well_formed(text), text
    assert text == render(picture(definition))


# --- the real parser


@pytest.fixture(scope="module")
def mermaid(tab: Tab, tmp_path_factory: pytest.TempPathFactory) -> Tab:
    """A page with Mermaid itself; MERMAID is the path of its mermaid.min.js."""
    script = Path(os.environ.get("MERMAID") or ROOT / "node_modules" / "mermaid" / "dist" / "mermaid.min.js")
    if not script.is_file():
        pytest.skip("no Mermaid here: npm install --no-save mermaid@11, or set MERMAID to its mermaid.min.js")
    page = tmp_path_factory.mktemp("mermaid") / "page.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><script src="{script.as_uri()}"></script><body>')
    tab.open(page)
    tab.run("mermaid.initialize({startOnLoad: false})")
    return tab


def drawn_by(mermaid: Tab, text: str) -> list[str]:
    """Return the labels of the nodes that Mermaid draws from *text*."""
    code = (
        f"mermaid.render('drawn', {json.dumps(text)}).then(made => {{"
        "const at = document.createElement('div'); at.innerHTML = made.svg;"
        "return [...at.querySelectorAll('.node .nodeLabel')].map(each => each.innerText.trim())})"
    )
    return list(mermaid.run(code))


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(definition=ODD)
def test_mermaid_itself_draws_every_picture(mermaid: Tab, definition: Workflow) -> None:
    drawn = picture(definition)

    assert len(drawn_by(mermaid, render(drawn))) == len(drawn.nodes)
