"""Workflows drawn for a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sandbox import flow, process, put_skill, told
from support.terminal import plain, shown

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers.text import draw
from flowrail.machines.definition.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.skills.draw import of_skill
from flowrail.skills.catalog import listing, workflows
from flowrail.text.report import plain_text

JUMPS = """\
name: NAME
steps:
  - {id: look, title: Look, actions: [Look.], limit: 3, next: {ok: think, iterate: look, fail: give_up}}
  - {id: think, title: Think, phase: ideas, actions: [Think.], next: {ok: write, fail: give_up, skip: null}}
  - {id: write, title: Write, actions: [Write.], next: {ok: null, fail: look}}
  - {id: give_up, title: Say why, actions: [Say why.], next: {ok: null}}
"""
DRAWN = """\
○  1 Look ◀──────────────────────╮
├─ fail ─────────────────────────┼─╮
├─ iterate (at most 3 attempts) ─┤ │
│  ok                            │ │
○  2 Think  ideas                │ │
├─ fail ─────────────────────────┼─┤
├─ skip ─ ◉ completed            │ │
│  ok                            │ │
○  3 Write                       │ │
├─ ok ─ ◉ completed              │ │
╰─ fail ─────────────────────────╯ │
○  4 Say why  give_up ◀────────────╯
╰─ ok ─ ◉ completed
"""


def test_transitions_are_lines_between_the_steps() -> None:
    put_skill("jumps", JUMPS)

    assert plain(shown("diagram", "jumps")) == DRAWN
    assert DRAWN in plain(shown("show", "jumps"))


def bundled() -> list[str]:
    return [file.address for skill in listing(Environment().roots) for file in workflows(skill)]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_bundled_workflow_fits_and_shows_each_step_and_transition(width: int) -> None:
    for address in bundled():
        workflow: Workflow = of_skill(address, Environment().roots).workflow
        drawn = picture(workflow)

        lines = plain_text(draw(drawn, width)).splitlines()

        assert max(map(len, lines)) <= width, address
        steps = [node for node in drawn.nodes if node.is_step]
        assert sum(line.startswith(("○", "●", "◆")) for line in lines) == len(steps), address
        into = {arrow.target for arrow in drawn.arrows if arrow.target in {step.id for step in steps}}
        assert sum("◀" in line for line in lines) <= len(into)


def test_a_drawing_shows_where_a_session_is() -> None:
    put_skill("jumps", JUMPS)
    session = told("start", "jumps")["session"]
    told("step", "jumps", "ok", "--session", session)

    out = plain(shown("diagram", "jumps", "--session", session)).splitlines()

    assert out[0].startswith("●  1 Look")
    assert next(line for line in out if "Think" in line).startswith("◆")
    assert any("ok · once" in line for line in out)


def test_the_format_follows_from_the_file() -> None:
    put_skill("jumps", JUMPS)

    for name, beginning in (
        ("x.svg", b"<svg"),
        ("x.mmd", b"flowchart TD"),
        ("x.png", b"\x89PNG"),
        ("x.txt", "○  1 Look".encode()),
        ("x", b"flowchart TD"),
    ):
        assert flow("diagram", "jumps", "-o", name).status == 0
        assert Path(name).read_bytes().startswith(beginning), name
    assert "unknown format `.jpeg`" in flow("diagram", "jumps", "-o", "x.jpeg").err
    assert flow("diagram", "jumps").out.startswith("flowchart TD")


def test_a_picture_is_opened_in_the_browser_of_the_user(tmp_path: Path) -> None:
    put_skill("jumps", JUMPS)
    opened = tmp_path / "opened"

    process("diagram", "jumps", "--open", env={"BROWSER": f"{_recorder(tmp_path)} %s"})

    address = opened.read_text(encoding="utf-8").strip()
    assert address.startswith("file:///")
    assert Path(address.removeprefix("file://")).read_text(encoding="utf-8").startswith("<svg ")


def _recorder(folder: Path) -> Path:
    """Return a program that writes its argument to a file, in place of a browser."""
    program = folder / "browser"
    program.write_text(f'#!/bin/sh\necho "$1" > {folder}/opened\n', encoding="utf-8")
    program.chmod(0o700)
    return program
