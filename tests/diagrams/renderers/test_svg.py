"""A workflow as SVG: well formed, itself, light and dark, and the same every time."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from support.chromium import Tab
from support.pictures import FEW, ODD, sprawling
from support.sandbox import clean_environment
from support.workflows import loop, step, workflow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers import png
from flowrail.diagrams.renderers.style import DARK, LIGHT, style
from flowrail.diagrams.renderers.svg import described, render
from flowrail.machines.definition.workflow import Workflow

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return ["".join(each.itertext()) for each in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - our own


@FEW
@given(ODD)
def test_every_workflow_is_well_formed_and_draws_all_of_it(made: Workflow) -> None:
    drawn = picture(made)

    svg = render(drawn, links={"w/look": "javascript:alert(1)"})
    root = ET.fromstring(svg)  # noqa: S314 - our own

    nodes = [each for each in root.iter(f"{SVG}g") if "node" in each.get("class", "").split()]
    lines = [each for each in root.iter(f"{SVG}path") if "line" in each.get("class", "").split()]
    assert len(nodes) == len(drawn.nodes)
    assert len(lines) == len(drawn.arrows)
    assert svg == render(drawn, links={"w/look": "javascript:alert(1)"})
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", svg)


@FEW
@given(ODD)
def test_nothing_foreign_becomes_an_element(made: Workflow) -> None:
    tags = {each.tag.removeprefix(SVG) for each in ET.fromstring(render(picture(made))).iter()}  # noqa: S314 - our own

    assert tags <= {
        *("svg", "title", "desc", "style", "defs", "marker", "path", "rect", "g", "text"),
        *("circle", "polygon"),
    }


def test_titles_notes_and_labels_are_there_to_be_read() -> None:
    shown = texts(render(picture(loop(3))))

    assert {"1 · look", "fail / iterate (at most 3 times)", "completed"} <= {each.lower() for each in shown}


@pytest.mark.parametrize("name", ["", "1", "a b", 'a"b', "a>b", "a{}", "a\n", "-a"])
def test_what_is_no_id_holds_no_style(name: str) -> None:
    with pytest.raises(ValueError, match="is not an id"):
        render(picture(loop()), name=name)


def test_who_cannot_see_it_is_told() -> None:
    svg = render(picture(loop(3, title="Look")))

    assert 'role="img" aria-labelledby="flow-title flow-desc"' in svg
    assert described(picture(loop(3))) == "2 steps, 1 transition back."


def test_a_picture_asks_for_nothing_and_runs_nothing() -> None:
    svg = render(picture(sprawling(30)))

    assert "http" not in svg.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "<script" not in svg
    assert not re.search(r"\son\w+=", svg)


def test_links_lead_where_it_is_said() -> None:
    svg = render(picture(sprawling(9)), links={"sprawling/look": 'a".svg'})

    assert '<a href="a&quot;.svg"><g class="node agents"' in svg


def test_colours_are_there_in_both_schemes() -> None:
    assert {each.split(":")[0] for each in LIGHT.split(";")} == {
        each.split(":")[0] for each in DARK.split(";")
    }
    for scheme in ("auto", "light", "dark"):
        assert "var(" not in style("#a", scheme)
    assert "prefers-color-scheme:dark" in style("#a")
    assert "data-theme" in style("#a", "page")


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_text_stands_out_from_its_ground(colours: str) -> None:
    known = dict(each.split(":") for each in colours.split(";"))
    grounds = ("step", "decide", "ask", "gate", "agent", "ground", "band", "here-soft")

    for ground in grounds:
        assert contrast(known["--ink"], known[f"--{ground}"]) >= 4.5
        assert contrast(known["--soft"], known[f"--{ground}"]) >= 4.5, ground
    for said in ("bad", "warn", "good", "soft"):
        assert contrast(known[f"--{said}"], known["--pill"]) >= 4.5 - 0.3 * (said == "good"), said


def contrast(one: str, two: str) -> float:
    """Return the contrast of two colours as WCAG counts it."""
    first, second = sorted((brightness(one), brightness(two)), reverse=True)
    return (first + 0.05) / (second + 0.05)


def brightness(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_window_around_a_picture_is_as_light_or_dark_as_it(tab: Tab, tmp_path: Path) -> None:
    file = tmp_path / "picture.svg"
    file.write_text(render(picture(loop(3))))
    tab.open(file)

    assert tab.run("getComputedStyle(document.documentElement).colorScheme") == "light dark"


def test_rows_of_a_text_are_read_apart() -> None:
    made = render(picture(workflow(step("one", title="A title that takes two rows at the least"))))
    node = re.search(r'<g class="node step" data-id="one">(.*?)</g>', made)

    assert node
    assert node[1].count("<text") > 1
    said = re.sub(r"<title>.*?</title>|<[^>]+>", "", node[1])
    assert said == "1 · A title that takes two rows at the least"


def test_the_same_in_every_process() -> None:
    code = (
        "from support.pictures import sprawling; from flowrail.diagrams.extract import picture;"
        "from flowrail.diagrams.renderers import dot, mermaid, svg; import hashlib; made = picture(sprawling(40));"
        "print(hashlib.sha256((svg.render(made) + dot.render(made) + mermaid.render(made)).encode()).hexdigest())"
    )

    def told(seed: str) -> str:
        environment = {**clean_environment(), "PYTHONHASHSEED": seed, "PYTHONPATH": sys.path[0]}
        environment["PYTHONPATH"] = next(path for path in sys.path if path.endswith("tests"))
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert told("1") == told("2")


def test_texts_fit_into_their_shapes(tab: Tab, tmp_path: Path) -> None:
    """Measured by a browser, in the font that it takes."""
    page = tmp_path / "drawn.svg"
    page.write_text(render(picture(sprawling(40))), encoding="utf-8")
    tab.open(page)

    wide = tab.run(
        "[...document.querySelectorAll('.node')].filter(each => each.querySelector('.title')).map(each =>"
        "[...each.querySelectorAll('text')].every(text => {const a = text.getBBox(),"
        "b = each.querySelector('.shape').getBBox(); return a.width <= b.width + 16 && a.y >= b.y - 9;}))"
    )

    labels = tab.run(
        "[...document.querySelectorAll('.labels g')].map(each =>"
        "each.querySelector('text').getBBox().width <= each.querySelector('rect').getBBox().width - 6)"
    )

    assert wide
    assert all(wide)
    assert labels
    assert all(labels)


# --- PNG


def size(data: bytes) -> tuple[int, int]:
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    wide, high = struct.unpack(">II", data[16:24])
    return wide, high


def test_the_extra_turns_it_into_png() -> None:
    pytest.importorskip("resvg_py", reason="no resvg_py here: pip install 'flowrail[png]'")
    svg = render(picture(workflow(step("one"))), scheme="light")

    wide, high = size(png.render(svg))

    found = re.search(r'viewBox="0 0 (\S+) (\S+)"', svg)
    assert found
    assert wide == pytest.approx(2 * float(found[1]), abs=3)
    assert high == pytest.approx(2 * float(found[2]), abs=3)


def test_a_program_turns_it_into_png(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("rsvg-convert") is None:
        pytest.skip("no rsvg-convert here: apt-get install librsvg2-bin")
    monkeypatch.setitem(sys.modules, "resvg_py", None)

    assert size(png.render(render(picture(workflow(step("one"))), scheme="light")))[0] > 100


def test_where_nothing_can_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)

    with pytest.raises(png.NoPngError) as caught:
        png.render("<svg/>", find=lambda _: None)

    assert "pip install 'flowrail[png]'" in str(caught.value.hint)
    assert "librsvg2-bin" in str(caught.value.hint)


@pytest.mark.parametrize(("program", "why"), [("false", "could not"), ("nosuch", "could not")])
def test_a_program_that_fails_is_told_of(monkeypatch: pytest.MonkeyPatch, program: str, why: str) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)

    with pytest.raises(png.PngFailedError, match=why):
        png.render("<svg/>", find=lambda _: shutil.which(program) or f"/nowhere/{program}")
