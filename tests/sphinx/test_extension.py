"""Workflows in Sphinx: a real build, without a warning, that follows the skills."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

sphinx_application = pytest.importorskip(
    "sphinx.application", reason="no Sphinx here: pip install 'flowrail[docs]'"
)

sphinx_docutils = pytest.importorskip("sphinx.util.docutils")

SKILL = """\
name: release
description: Cut a release.
params: {version: {type: string, required: true}}
steps:
  - {id: one, title: "Say <b>it</b>", actions: [Do.], limit: 3, next: {ok: two, iterate: one}}
  - {id: two, title: Second, actions: [Do.], next: {ok: null}}
"""
PAGE = """\
Pages
=====

.. flow-diagram:: release
   :caption: How it goes
   :name: how

.. flow-steps:: release

See :ref:`the picture <how>`.
"""

Build = Callable[..., tuple[str, str]]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Return what builds the pages and gives back the page and what was told."""
    (tmp_path / "skills" / "release").mkdir(parents=True)
    (tmp_path / "skills" / "release" / "workflow.yaml").write_text(SKILL)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "conf.py").write_text(
        'extensions = ["flowrail.sphinx.extension"]\nflow_roots = ["../skills"]\nhighlight_language = "text"\n'
    )

    def run(page: str = PAGE, *, form: str = "html", fresh: bool = True) -> tuple[str, str]:
        (tmp_path / "pages" / "index.rst").write_text(page) if fresh else None
        told = io.StringIO()
        with sphinx_docutils.docutils_namespace():
            app = sphinx_application.Sphinx(
                tmp_path / "pages",
                tmp_path / "pages",
                tmp_path / form,
                tmp_path / "trees" / form,
                form,
                status=None,
                warning=told,
                freshenv=fresh,
            )
            app.build()
        suffix = "html" if form == "html" else "txt"
        return (tmp_path / form / f"index.{suffix}").read_text(encoding="utf-8"), told.getvalue()

    return run


def test_pictures_and_tables_stand_in_the_page(build: Build) -> None:
    html, told = build()

    assert not told
    assert 'class="node step"' in html
    assert "prefers-color-scheme:dark" in html
    assert "data-theme" in html
    assert "How it goes" in html
    assert "<b>it</b>" not in html


def test_what_is_no_html_gets_the_steps_as_a_table(build: Build) -> None:
    text, told = build(form="text")

    assert not told
    assert "Say <b>it</b>" in text
    assert "<svg" not in text


def test_a_page_is_built_again_after_its_skill_changed(build: Build, tmp_path: Path) -> None:
    build()
    file = tmp_path / "skills" / "release" / "workflow.yaml"
    file.write_text(SKILL.replace("Second", "Another"))

    html, told = build(fresh=False)

    assert not told
    assert "Another" in html


def test_a_skill_that_cannot_be_read_is_told_with_its_line(build: Build, tmp_path: Path) -> None:
    (tmp_path / "skills" / "release" / "workflow.yaml").write_text("steps: [")

    _, told = build("Pages\n=====\n\n.. flow-diagram:: release\n")

    assert "index.rst:4" in told
    assert "FR100" in told
