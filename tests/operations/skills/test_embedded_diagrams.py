"""Blocks of documents that are generated from skills are rewritten or checked; other text does not change."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import ASKING, SMALL, flow, put_skill

from flowrail.diagrams.embedded import NoMarkersError, blocks
from flowrail.operations.skills.embedded_diagrams import (
    NAMES,
    NoWorkflowError,
    UnknownBlockError,
    page,
    pages_below,
)
from flowrail.text import yaml as yaml_text

ROOT = Path(__file__).parents[3]


def marked(name: str, words: str = "", inside: str = "old\n") -> str:
    return f"<!-- flow:{name}{f' {words}' if words else ''} -->\n{inside}<!-- /flow:{name} -->\n"


def test_every_kind_of_block_is_generated_and_a_second_run_changes_nothing() -> None:
    put_skill("asking", ASKING)
    file = Path("page.md")
    file.write_text(
        "# Page\n\n" + "\n".join(marked(name, "asking" if name != "skills" else "") for name in NAMES)
    )

    ran = flow("diagram", "--inject", "page.md")

    assert ran.status == 0
    assert ran.out.endswith(f"{len(NAMES)} blocks in 1 page, {len(NAMES)} rewritten\n")
    text = file.read_text()
    for made in (
        "```mermaid\nflowchart TD\n",
        "| # | Step | Transitions |",
        "| [asking](.claude/skills/asking/SKILL.md) | 2 |",
    ):
        assert made in text
    again = flow("diagram", "--inject", "page.md")
    assert again.out == f"{len(NAMES)} blocks in 1 page, 0 rewritten\n"
    assert file.read_text() == text


def test_drift_is_reported_with_the_command_that_fixes_it_and_nothing_is_written() -> None:
    put_skill("small")
    file = Path("page.md")
    file.write_text(marked("steps"))

    ran = flow("diagram", "small", "--inject", "page.md", "--check")

    error, hint = ran.err.splitlines()
    assert ran.status == 1
    assert error == "flow: 1 block is out of date: page.md:1 steps [BLOCKS_STALE]"
    assert file.read_text() == marked("steps")
    assert flow(*shlex.split(hint)[1:]).status == 0
    assert flow("diagram", "small", "--inject", "page.md", "--check").status == 0


def test_a_block_that_names_no_workflow_is_refused() -> None:
    Path("page.md").write_text(marked("steps"))

    with pytest.raises(NoWorkflowError) as caught:
        page("page.md", ())

    assert str(caught.value.hint) == (
        "write <!-- flow:steps SKILL -->, or run flow diagram SKILL --inject page.md"
    )


def test_a_page_that_is_a_link_out_of_the_project_is_left_alone(tmp_path: Path) -> None:
    put_skill("small")
    theirs, ours = tmp_path / "theirs.md", Path("docs/ours.md")
    Path("docs").mkdir()
    theirs.write_text(marked("steps", "small"))
    ours.write_text(marked("steps", "small"))
    Path("docs/link.md").symlink_to(theirs)
    Path("docs/inside.md").symlink_to("ours.md")
    Path("docs/gone.md").symlink_to("nowhere.md")
    os.mkfifo("docs/pipe.md")

    ran, named = flow("diagram", "--inject", "docs"), flow("diagram", "--inject", "docs/link.md", "--json")

    assert (ran.status, ours.read_text() == marked("steps", "small")) == (0, False)
    assert ran.err == (
        "flow: docs/gone.md: the page does not exist; left alone\n"
        f"flow: docs/link.md: the page is a link to {theirs}, outside the project; left alone\n"
        "flow: docs/pipe.md: the page is a pipe, socket or device; left alone\n"
    )
    assert Path("docs/inside.md").is_symlink()
    assert (named.status, json.loads(named.out)["error"]["code"]) == (2, "PAGE_ELSEWHERE")
    assert theirs.read_text() == marked("steps", "small")


def test_a_misspelt_block_is_refused_and_blocks_of_others_are_left_alone() -> None:
    Path("page.md").write_text(marked("counts") + marked("reference"))
    assert page("page.md", ()).made == ()

    Path("page.md").write_text(marked("step", "small"))
    with pytest.raises(UnknownBlockError, match="unknown block `step`"):
        page("page.md", ())


def test_markers_inside_of_a_fence_are_text_and_a_block_must_end() -> None:
    text = f"```markdown\n{marked('steps', 'small')}```\n~~~\n```\n{marked('steps', 'small')}~~~\n"

    assert not list(blocks(text, source="a.md"))
    with pytest.raises(NoMarkersError, match=r"a\.md:2: the block `steps` does not end"):
        list(blocks("\n<!-- flow:steps small -->\n", source="a.md"))


def test_a_folder_means_its_pages_but_not_those_of_others() -> None:
    for path in (
        "a.md",
        "b/c.markdown",
        "b/d.txt",
        ".hidden/e.md",
        "node_modules/f.md",
        ".claude/skills/g.md",
    ):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("")

    assert sorted(os.path.normpath(path) for path in pages_below(".")) == [
        ".claude/skills/g.md",
        "a.md",
        "b/c.markdown",
    ]


def test_the_hook_for_others_runs_as_it_is_written() -> None:
    hooks: Any = yaml_text.load((ROOT / ".pre-commit-hooks.yaml").read_text(), source="hooks").value
    (hook,) = hooks
    put_skill("small", SMALL)
    Path("README.md").write_text(marked("steps", "small"))
    words = shlex.split(hook["entry"])

    assert words[0] == "flow"
    assert flow(*words[1:]).status == 0
    assert "| 1 | First |" in Path("README.md").read_text()
    assert flow(*words[1:], "--check").status == 0
