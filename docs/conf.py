"""Sphinx: the documentation as a site. Build it with: python3 bootstrap.py check -s docs"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version as version_of

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from flowrail.diagrams import extract, handoff
from flowrail.diagrams.model import Picture
from flowrail.diagrams.renderers import mermaid, svg
from flowrail.operations.skills.list import all_skills
from flowrail.skills.loader import Loader

project = "flowrail"
author = "the flowrail maintainers"
copyright = "the flowrail maintainers"
release = version = version_of("flowrail")

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
myst_fence_as_directive = []
exclude_patterns = ["_build", "pages.py", "words.py"]
nitpicky = True
suppress_warnings = ["myst.header"]  # (a reference page begins where its command does)
highlight_language = "text"
smartquotes = False  # a flag such as --format stays as it is typed

html_theme = "furo"
html_title = f"flowrail {release}"
html_copy_source = False


def setup(app: Sphinx) -> None:
    """Replace the Mermaid diagrams of the pages with SVG."""
    app.connect("doctree-read", _draw)


def _draw(app: Sphinx, doctree: nodes.document) -> None:
    if app.builder.format != "html":
        return
    for number, block in enumerate(list(doctree.findall(nodes.literal_block))):
        if block.get("language") != "mermaid":
            continue
        picture = _pictures().get(block.astext().strip())
        if picture is None:
            logging.getLogger(__name__).warning("this diagram does not match any workflow", location=block)
            continue
        drawn = svg.render(picture, name=f"flow-{number}")
        fitting = drawn.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)
        block.replace_self(nodes.raw("", fitting, format="html"))


@cache
def _pictures() -> Mapping[str, Picture]:
    """Return the pictures that pages may contain, each by its Mermaid text."""
    drawn = [
        extract.picture(Loader().load(address).definition)
        for item in all_skills(Loader())
        for address in (item.name, *item.workflows)
    ]
    drawn.append(handoff.lifecycle_picture())
    return {mermaid.render(picture): picture for picture in drawn}
