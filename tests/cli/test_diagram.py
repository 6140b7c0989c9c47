"""`flow diagram`: workflows and sessions drawn in every language, printed or written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from support.sandbox import ASKING, SMALL, flow, put_skill, refused, told


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("mermaid", "flowchart TD\n"),
        ("svg", "<svg "),
        ("json", "{\n"),
    ],
)
def test_a_workflow_is_drawn_in_every_language_the_same_each_time(form: str, start: str) -> None:
    put_skill("asking", ASKING)

    ran = flow("diagram", "asking", "--format", form)

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(start)
    assert ran.out == flow("diagram", "asking", "--format", form).out


@pytest.mark.parametrize("form", ["mermaid", "svg"])
def test_a_session_is_shown_on_it_in_every_language(form: str) -> None:
    put_skill("asking", ASKING)
    session = told("step", "asking")["session"]
    told("step", "asking", "done", "-s", "sure=low", "-s", "where=a")

    plain = flow("diagram", "asking", "--format", form).out
    ran = flow("diagram", "--session", session, "--format", form)

    assert ran.status == 0
    assert ran.out != plain
    assert "entered twice" in ran.out.replace("</text>", "\n")
    assert ran.out == flow("diagram", "asking", "--session", session, "--format", form).out


def test_a_session_is_drawn_by_what_it_keeps_and_not_by_the_files_of_today() -> None:
    folder = put_skill("small")
    session = told("step", "small")["session"]
    shutil.rmtree(folder)

    assert '"1 · First' in flow("diagram", "--session", session).out


def test_a_session_of_another_skill_is_refused() -> None:
    put_skill("small")
    put_skill("other")
    session = told("step", "small")["session"]

    status, error = refused("diagram", "other", "--session", session)

    assert (status, error["code"]) == (2, "OTHER_SKILL")
    assert error["hint"] == f"flow diagram small --session {session}"


def test_without_a_skill_or_a_session_there_is_nothing_to_draw() -> None:
    assert refused("diagram")[0] == 2


def test_a_png_is_written_and_not_put_on_a_terminal(tmp_path: Path) -> None:
    put_skill("small")
    file = tmp_path / "small.png"

    ran = flow("diagram", "small", "--format", "png", "-o", str(file))

    if ran.status:
        assert "pip install 'flowrail[png]'" in ran.err
    else:
        assert file.read_bytes().startswith(b"\x89PNG")
        assert flow("diagram", "small", "--format", "png").out.startswith("\x89PNG")
    assert flow("diagram", "small", "--format", "png", terminal=True).status == 2


@pytest.mark.parametrize("text", ["steps: [", "name: small\nsteps: []\n"])
def test_a_workflow_of_which_nothing_can_be_drawn_is_refused(text: str) -> None:
    put_skill("small", text)
    page = Path("page.md")
    page.write_text("<!-- flow:steps small -->\nas it was\n<!-- /flow:steps -->\n")
    before = page.read_text()

    assert flow("diagram", "small", "--format", "svg").status == 1
    status, error = refused("diagram", "--inject", "page.md")
    assert status == 1
    assert error["code"] == "INVALID_WORKFLOW"
    assert error["message"].startswith("page.md:1: workflow `small` has ")
    assert page.read_text() == before


def test_more_arrows_than_mermaid_draws_are_told_of() -> None:
    steps = "".join(
        f"  - {{id: s{at}, title: S, actions: [Do.], next: {{ok: s{at + 1}, fail: s{at + 2}}}}}\n"
        for at in range(260)
    )
    ends = "".join(f"  - {{id: s{at}, title: S, actions: [Do.], next: {{ok: null}}}}\n" for at in (260, 261))
    put_skill("wide", f"name: NAME\nsteps:\n{steps}{ends}")

    ran = flow("diagram", "wide")

    assert re.search(r"flow: \d+ arrows, but Mermaid draws at most 500: use svg", ran.err)


def test_a_workflow_with_mistakes_is_drawn_as_far_as_it_goes_with_a_word() -> None:
    put_skill("small", SMALL.replace("null", "nowhere"))

    ran = flow("diagram", "small", "--format", "mermaid")

    assert ran.status == 0
    assert "1 · " in ran.out
    assert re.search(r"`small` has \d errors? and is drawn as far as it goes: flow check small", ran.err)
