"""What the docs say about the bundled skills is up to date, and its commands work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from support.sandbox import BUNDLED, flow

from flowrail.skills.loader import Loader

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "skills.md"


def test_every_first_command_on_the_page_works() -> None:
    lines = re.findall(r"^```text\n\$ (flow step .*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert len(lines) == len(BUNDLED)
    for line in lines:
        ran = flow("step", "--new", *shlex.split(line)[2:])
        assert ran.status == 0, (line, ran.err)


def test_what_authors_are_sent_to_exists() -> None:
    text = (ROOT / "docs" / "explanation" / "bundled-skills.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z-]+(?:/[a-z-]+)?)`: ((?:`[a-z_]+`(?:, )?)+)", text)

    assert {address.partition("/")[0] for address, _ in named} >= set(BUNDLED) - {"leon-writing-style"}
    for address, steps in named:
        ids = [step.id for step in Loader().load(address).definition.steps]
        assert set(re.findall(r"[a-z_]+", steps)) <= set(ids), address
