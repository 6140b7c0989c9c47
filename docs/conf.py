"""Sphinx: the documentation as a site. Build it with: python3 bootstrap.py check -s docs"""

from importlib.metadata import version as version_of

project = "flowrail"
author = "the flowrail maintainers"
copyright = "the flowrail maintainers"
release = version = version_of("flowrail")

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
myst_fence_as_directive = []
exclude_patterns = ["_build", "pages.py"]
nitpicky = True
suppress_warnings = ["myst.header"]  # (a reference page begins where its command does)
highlight_language = "text"

html_theme = "furo"
html_title = f"flowrail {release}"
html_copy_source = False


def setup(app: object) -> None:
    """Show diagrams that are given as text as the text that they are."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("mermaid", TextLexer)  # type: ignore[attr-defined]
