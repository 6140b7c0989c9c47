"""The text form of a step: what a person reads instead of XML."""

from __future__ import annotations

import re

import pytest
from support.sandbox import BUNDLED

from flowrail import formatters
from flowrail.formatters.block import markup_lines
from flowrail.operations.environment import Environment
from flowrail.operations.skills.show import show
from flowrail.skills.catalog import listing, workflows
from flowrail.text.report import plain_text
from flowrail.text.safe_text import Markup, visible

TAG = re.compile(r"^ *</?[a-z_]+(?: [a-z_]+=\"[^\"]*\")*>", re.MULTILINE)
RETURNED = re.compile(r"^ *<needs_user_input>.*?</needs_user_input>$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("skill", BUNDLED)
def test_no_step_of_a_bundled_skill_is_shown_with_xml(skill: str) -> None:
    environment = Environment()
    files = [file for found in listing(()) if found.name == skill for file in workflows(found)]

    for file in files:
        for step in environment.loader.load(file.address).definition.steps:
            for attempt in (1, 2):
                preview = show(environment, file.address, step.id, attempt=attempt)
                text = RETURNED.sub("", plain_text(preview.report()))
                assert not TAG.search(text), text


def test_a_block_is_shown_in_words() -> None:
    blocks = [
        formatters.format_state_banner("plan", 2, "fix", limit=5),
        formatters.format_forbidden(["Changing a < b", "Leaving\na test red"]),
        formatters.format_routing({"PASS": "go on", "FAIL": "stop"}),
        formatters.format_detection_questions(["Who calls it?"], "use"),
        formatters.format_subagent_dispatch("explore", "planner/explore", context_vars={"area": "db"}),
    ]

    text = plain_text(line for block in blocks for line in markup_lines(block))

    assert text.splitlines()[:-1] == [
        "State banner (checkpoint plan, iteration 2, limit 5, mode fix)",
        "Forbidden:",
        "  - Changing a < b",
        "  - Leaving",
        "    a test red",
        "Routing:",
        "  - PASS: go on",
        "  - FAIL: stop",
        "Detection questions (category use):",
        "  - 1: Who calls it?",
        "Subagent dispatch (agent explore, mode script):",
        "  - context:",
        "    - area: db",
        "  - invoke: flow step planner/explore --new -p area=db",
    ]


def test_text_that_an_author_wrongly_calls_markup_is_shown_as_it_is() -> None:
    assert plain_text(markup_lines(Markup("a < b"))) == "a < b"


def test_a_character_reference_does_not_become_a_hidden_character() -> None:
    for markup in ("<x>a&#x202E;b</x>", "<x>a&#27;[31mb</x>"):
        shown = plain_text(markup_lines(Markup(markup)))

        assert visible(shown) == shown
