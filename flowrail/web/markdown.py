"""Markdown in texts of workflows, agents and files, as HTML. Markup in the text stays text, and nothing is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from flowrail.text.safe_text import visible


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table").disable("image")
    # assigned in place of a method, as the library documents it
    parser.validateLink = lambda url: url.startswith(("https://", "http://"))  # type: ignore[method-assign]
    for kind in ("heading_open", "heading_close"):  # the headings of the page stay its own
        parser.add_render_rule(kind, _heading)
    return parser


def _heading(_: object, tokens: Sequence[Any], index: int, *__: object) -> str:
    return '<p class="heading">' if tokens[index].nesting > 0 else "</p>\n"


_PARSER = _parser()


def block(text: str) -> Markup:
    """Return a text with paragraphs, lists, tables and code."""
    return Markup(_PARSER.render(visible(text)))  # noqa: S704 - the parser escapes


def inline(text: str) -> Markup:
    """Return a text of one paragraph."""
    return Markup(_PARSER.renderInline(visible(text)))  # noqa: S704 - the parser escapes
