"""A workflow as SVG: well formed, complete, light and dark, and the same every time."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from support.chromium import Tab
from support.drawn_workflows import FEW, ODD, sprawling

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers.style import DARK, LIGHT, style
from flowrail.diagrams.renderers.svg import render
from flowrail.machines.workflow import Workflow

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {
    *["svg", "title", "desc", "style", "defs", "marker", "path", "rect", "g", "text", "circle", "polygon"]
}


@FEW
@given(ODD)
def test_every_workflow_is_drawn_whole_and_nothing_foreign_becomes_an_element(definition: Workflow) -> None:
    drawn = picture(definition)

    svg = render(drawn)
    root = ET.fromstring(svg)  # noqa: S314 - our own

    elements = [(element.tag.removeprefix(SVG), element.get("class", "").split()) for element in root.iter()]
    assert sum(tag == "g" and "node" in classes for tag, classes in elements) == len(drawn.nodes)
    assert sum(tag == "path" and "line" in classes for tag, classes in elements) == len(drawn.arrows)
    assert {tag for tag, _ in elements} <= TAGS
    assert not {name for element in root.iter() for name in element.attrib if name.startswith(("on", "href"))}
    assert svg == render(drawn)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", svg)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_line_has_a_contrast_of_three_to_one(colours: str) -> None:
    values = dict(colour.split(":") for colour in colours.split(";"))
    strokes = {*re.findall(r"stroke:var\((--[a-z-]+)\)", style("#flow", own_colours=False))}

    low = {
        (line, ground)
        for line in strokes
        for ground in ("--ground", "--band", "--pill")
        if contrast(values[line], values[ground]) < 3
    }

    assert {"--line", "--good", "--bad", "--warning"} <= strokes
    assert low == set()
    assert "opacity" not in style("#flow", own_colours=False)


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as WCAG defines it."""
    lower, higher = sorted(map(luminance, (first, second)))
    return (higher + 0.05) / (lower + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as `#ffffff`."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_texts_fit_into_their_shapes(tab: Tab, tmp_path: Path) -> None:
    """Measured by a browser, in the font that it takes."""
    page = tmp_path / "drawn.svg"
    page.write_text(render(picture(sprawling(40))), encoding="utf-8")
    tab.open(page)

    titles_fit = tab.run(
        "[...document.querySelectorAll('.node')].filter(each => each.querySelector('.title')).map(each =>"
        "[...each.querySelectorAll('text')].every(text => {const a = text.getBBox(),"
        "b = each.querySelector('.shape').getBBox(); return a.width <= b.width + 16 && a.y >= b.y - 9;}))"
    )

    labels_fit = tab.run(
        "[...document.querySelectorAll('.labels g')].map(each =>"
        "each.querySelector('text').getBBox().width <= each.querySelector('rect').getBBox().width - 6)"
    )

    assert titles_fit
    assert all(titles_fit)
    assert labels_fit
    assert all(labels_fit)
