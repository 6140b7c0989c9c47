"""The frontmatter of a SKILL.md."""

import pytest

from flowrail.discovery.frontmatter import Frontmatter, read_frontmatter


def read(text: str | bytes) -> Frontmatter:
    return read_frontmatter(text if isinstance(text, bytes) else text.encode(), "SKILL.md")


def test_scalars_stay_text_as_written() -> None:
    front = read("---\nversion: 1.10\ndate: 2024-01-01\non: yes\nempty:\nquoted: ''\nnumber: 0x1F\n---\n")

    assert front.values == {
        "version": "1.10",
        "date": "2024-01-01",
        "on": "yes",
        "empty": None,
        "quoted": "",
        "number": "0x1F",
    }


@pytest.mark.parametrize(
    "description", ["Use it when: always", "it's: done", 'say "yes": then go', "(first: second)", "a: b: c"]
)
def test_an_unquoted_colon_in_a_top_level_text_is_tolerated(description: str) -> None:
    front = read(f"---\nname: a-skill\ndescription: {description}\nlicense: MIT\n---\n")

    assert front.values == {"name": "a-skill", "description": description, "license": "MIT"}
    assert front.unquoted == {"description": 3}
