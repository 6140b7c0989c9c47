"""Drawing a stranger's workflow takes work in proportion to it, and no more memory than there is."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from support.counting import calls_of
from support.sandbox import Ran, flow, put_skill

from flowrail import StepDef, Workflow
from flowrail.diagrams.extract import picture
from flowrail.diagrams.layout.layers import PictureTooLargeError
from flowrail.diagrams.renderers import png, svg
from flowrail.operations.skills import embedded_diagrams
from flowrail.operations.skills.embedded_diagrams import NAMES


def chain(count: int, **more: str) -> Workflow:
    """Return a workflow of that many steps in a row."""
    return Workflow(
        "evil",
        *(
            StepDef(f"s{n}", "A", ["x"], phase=f"p{n}", next={"ok": f"s{n + 1}", **more})
            for n in range(count - 1)
        ),
        StepDef(f"s{count - 1}", "A", ["x"], next={"ok": None}),
    )


def test_a_long_row_of_steps_is_laid_out_in_proportion_to_it() -> None:
    few, many = (
        calls_of(partial(svg.render, picture(chain(count)), scheme="light"), below=True)
        for count in (60, 120)
    )

    assert many < 2.2 * few


@pytest.mark.parametrize(
    ("wide", "high", "zoom"),
    [(300, 900, 2.0), (1_000, 10_000, 0.894), (500, 16_000, 1.0), (300, 32_000, 0.5)],
)
def test_a_picture_of_pixels_is_as_large_as_it_can_be(wide: int, high: int, zoom: float) -> None:
    made = png._zoom(f'<svg xmlns="x" viewBox="0 0 {wide} {high}" width="{wide}">')

    assert made == pytest.approx(zoom, abs=0.001)
    assert max(wide, high) * made <= png.LARGEST_SIDE
    assert wide * high * made**2 <= png.MOST_PIXELS * 1.001


def test_a_picture_that_pixels_cannot_hold_is_refused_with_another_format() -> None:
    steps = "".join(f"  - {{id: s{n}, title: A, actions: [x], next: {{ok: s{n + 1}}}}}\n" for n in range(600))
    put_skill(
        "evil", f"name: NAME\nsteps:\n{steps}  - {{id: s600, title: A, actions: [x], next: {{ok: null}}}}\n"
    )

    ran = flow("diagram", "evil", "--format", "png")

    assert (ran.status, "[PICTURE_TOO_LARGE]" in ran.err, "--format svg" in ran.err) == (2, True, True)
    assert flow("diagram", "evil", "--format", "svg").status == 0
    with pytest.raises(PictureTooLargeError):
        png.render('<svg viewBox="0 0 9000 9000">')


def injected(text: str) -> Ran:
    Path("page.md").write_text(text)
    return flow("diagram", "--inject", "page.md")


def test_a_workflow_that_many_blocks_of_a_page_name_is_read_and_drawn_once_for_each_kind() -> None:
    put_skill("evil")
    kinds = "".join(f"<!-- flow:{name} evil -->\nold\n<!-- /flow:{name} -->\n" for name in NAMES)

    assert calls_of(partial(injected, kinds * 20), "_workflow") == len(NAMES) - 1
    assert flow("diagram", "--inject", "page.md", "--check").status == 0
    assert Path("page.md").read_text().count("flow:steps evil") == 20


def test_a_page_that_its_blocks_would_make_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    put_skill("evil")
    blocks = "<!-- flow:steps evil -->\n<!-- /flow:steps -->\n" * 30
    pictures = "".join(f"<!-- flow:svg evil p{n}.svg -->\n<!-- /flow:svg -->\n" for n in range(30))
    monkeypatch.setattr(embedded_diagrams, "LARGEST_PAGE", len(blocks) + 1_000)
    monkeypatch.setattr(embedded_diagrams, "LARGEST_PICTURES", 20_000)

    for text in (blocks, pictures):
        ran = injected(text)
        assert (ran.status, "[PAGE_TOO_LARGE]" in ran.err) == (2, True)
        assert Path("page.md").read_text() == text
    assert not list(Path().glob("*.svg"))
