"""Drawing a foreign workflow takes work in proportion to its size, and limited memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sandbox import Ran, flow, put_skill

from flowrail.diagrams.layout.layers import PictureTooLargeError
from flowrail.diagrams.renderers import png
from flowrail.operations.skills import embedded_diagrams


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


def test_a_page_that_its_blocks_would_make_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    put_skill("evil")
    blocks = "<!-- flow:steps evil -->\n<!-- /flow:steps -->\n" * 30
    monkeypatch.setattr(embedded_diagrams, "LARGEST_PAGE", len(blocks) + 1_000)

    ran = injected(blocks)

    assert (ran.status, "[PAGE_TOO_LARGE]" in ran.err) == (2, True)
    assert Path("page.md").read_text() == blocks
