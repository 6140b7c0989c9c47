"""What a step tells again and again does not make it larger than anybody can hold."""

from __future__ import annotations

from functools import partial

from support.counting import calls_of
from support.sandbox import flow, put_skill, refused

from flowrail.machines.wording import MOST_AGAIN, Again, Filling, fill

LONG = "x" * 60_000


def one_step(step: str, above: str = "") -> str:
    return f"name: NAME\n{above}steps:\n  - {{id: a, title: A, {step}, next: {{ok: null}}}}\n"


def test_a_long_value_is_told_whole_and_again_as_far_as_it_comes_to_little() -> None:
    texts = [fill("$a " * 30_000, {"a": LONG}), "".join(map(Filling({"a": LONG}).fill, ["$a"] * 9_000))]

    for text in texts:
        assert MOST_AGAIN < len(text) < MOST_AGAIN + 2 * len(LONG) + 4 * 30_000
        assert text.startswith(LONG)
        assert text.rstrip().endswith("$a"), "what is not told again stays as it is written"
    assert fill("$a $b $a", {"a": LONG, "b": LONG}) == f"{LONG} {LONG} {LONG}"
    assert fill("$a$a $b$b", {"a": "x" * MOST_AGAIN, "b": "y"}).endswith(" y$b")


def test_a_step_that_names_a_long_value_by_the_thousand_is_told() -> None:
    put_skill(
        "evil",
        one_step("text: steps/a.md", f"params: {{a: {{default: {LONG}}}}}\n"),
        texts={"steps/a.md": "$a" * 30_000},
    )

    for words in (("preview", "evil", "a", "--json"), ("step", "evil", "--json"), ("start", "evil")):
        ran = flow(*words)
        assert ran.status == 0
        assert LONG in ran.out
        assert len(ran.out) < 2 * MOST_AGAIN


def test_a_resource_is_quoted_whole_and_again_as_far_as_it_comes_to_little() -> None:
    put_skill(
        "evil",
        one_step("text: steps/a.md"),
        texts={
            "steps/a.md": "```flow:resource\nr\nr\n```\n\n```flow:resource\n" + "r\n" * 20_000 + "```\n",
            "resources/r.md": LONG,
        },
    )

    told = flow("preview", "evil", "a").out

    assert 2 * len(LONG) < len(told) < 2 * MOST_AGAIN
    assert "flow:resource" in told, "a block that cannot be made stays text"
    assert Again({"r": "x" * (MOST_AGAIN + 1)})("r")


def test_values_are_put_among_blocks_in_proportion_to_both() -> None:
    def text(count: int) -> str:
        return "```flow:x\n$a\n```\n" * count + "$a" * count

    few, many = (calls_of(partial(fill, text(size), {"a": "x"}), below=True) for size in (200, 400))

    assert many < 2.2 * few
    assert fill("$a\n```flow:x\n$a\n```\n$a", {"a": "1\n2"}) == "1\n2\n```flow:x\n1\n        2\n```\n1\n2"


def test_variables_that_no_session_could_keep_are_refused_before_they_are_all_made() -> None:
    variables = ", ".join(f"v{n}: '{'$a' * 20} {n}'" for n in range(40))
    put_skill(
        "evil",
        one_step(
            f"actions: [x], dispatch: {{agent: explore, run: evil/w, vars: {{{variables}}}}}",
            f"params: {{a: {{default: {LONG}}}}}\n",
        ),
        texts={
            "workflows/w.yaml": one_step(
                "actions: [x]", f"params: {{{', '.join(f'v{n}: {{}}' for n in range(40))}}}\n"
            ).replace("NAME", "evil/w")
        },
    )

    status, error = refused("start", "evil")

    assert (status, error["code"]) == (3, "TOO_LARGE")
    assert error["details"]["bytes"] < 11_000_000
