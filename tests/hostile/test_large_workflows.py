"""Oversized parts of a workflow are refused with a finding, and large honest workflows are accepted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.counting import calls_of
from support.sandbox import allow, flow, project_skills, put_skill, refused

from flowrail import StepDef, Workflow, approval
from flowrail.errors import TrustError
from flowrail.machines.checks.check import advise
from flowrail.machines.definition.values import LARGEST_LEAST, Arg

ENDS = "{id: z, title: Z, actions: [x], next: {ok: null}}"


def steps(*written: str, above: str = "") -> str:
    return f"name: NAME\n{above}steps:\n" + "".join(f"  - {each}\n" for each in (*written, ENDS))


def test_a_value_that_must_be_very_long_is_refused_and_made_up_short() -> None:
    folder = put_skill(
        "evil",
        steps(
            "{id: a, title: A, actions: [x], reports: {f: {type: list, min_length: 1000000000}}, next: {ok: z}}",
            above="params: {a: {required: true, min_length: 1000000000}, b: {min_length: 10000}}\n",
        ),
    )

    checked = flow("check", str(folder), "--json")

    assert [each["code"] for each in checked.data["findings"]] == ["FR122", "FR122", "FR169"]
    assert len(Arg(min_length=10**9).sample()) == LARGEST_LEAST
    assert len(Arg(type="list", min_length=10**9).sample()) == LARGEST_LEAST
    assert Arg(min_length=LARGEST_LEAST).problem(Arg(min_length=LARGEST_LEAST).sample()) is None


def test_a_choice_among_very_many_is_known_and_a_refusal_names_the_first() -> None:
    arg = Arg(choices=tuple(range(20_000)))

    assert arg.problem(19_999) is None
    assert arg.problem(True) is not None
    assert str(arg.problem(20_000)).endswith("39 and 19960 more, not 20000")
    assert len(str(arg.problem(20_000))) < 400


def test_of_tools_forbidden_by_the_thousand_the_first_are_judged() -> None:
    twice = ", ".join(f"E{n // 2}" for n in range(10_000))
    folder = put_skill(
        "evil", steps(f"{{id: a, title: A, actions: [x], forbids: [{twice}], next: {{ok: z}}}}")
    )

    findings = flow("check", str(folder), "--json").data["findings"]

    assert len(findings) == 17
    assert "10000 rules are more than 32" in findings[-1]["message"]


def test_a_limit_beyond_all_numbers_is_no_mistake_of_ours() -> None:
    step = "{id: a, title: A, actions: [x], limit: 9999999999999999999, variants: VARIANTS, next: {ok: z, iterate: a}}"
    folder = put_skill("evil", steps(step.replace("VARIANTS", "[{when: visit > 10, actions: [x]}]")))

    assert flow("check", str(folder)).status == 0


def test_expressions_that_are_too_long_together_are_refused() -> None:
    said = " or ".join(f"p == {n}" for n in range(45))
    rules = ", ".join(f"{{if: '{said}', outcome: ok}}" for _ in range(500))
    step = f"{{id: a, title: A, actions: [x], rules: [{rules}, {{outcome: ok}}], next: {{ok: z}}}}"
    folder = put_skill("evil", steps(step, above="params: {p: {type: integer, default: 1}}\n"))

    findings = flow("check", str(folder), "--json").data["findings"]

    assert [(each["code"], each["remedy"]) for each in findings] == [("FR119", "part the workflow")]


def test_texts_that_are_told_again_and_again_are_bounded_together() -> None:
    told = "".join(
        f"  - {{id: s{n}, title: A, text: steps/a.md, next: {{ok: s{n + 1}}}}}\n" for n in range(80)
    )
    text = f"name: NAME\nsteps:\n{told}  - {{id: s80, title: Z, actions: [x], next: {{ok: null}}}}\n"
    folder = put_skill("evil", text, texts={"steps/a.md": "word " * 12_000})
    named = "".join(f"r{n}\n" for n in range(80))
    quoting = put_skill(
        "quoting",
        "name: NAME\nsteps:\n  - {id: a, title: A, next: {ok: null}}\n",
        texts={
            "steps/a.md": f"```flow:resource\n{named}```\n",
            **{f"resources/r{n}.md": "w" * 60_000 for n in range(80)},
        },
    )

    findings = flow("check", str(folder), "--json").data["findings"]
    quoted = flow("check", str(quoting), "--json").data["findings"]

    assert {each["code"] for each in findings} == {"FR125"}
    assert len(findings) == 14
    assert [each["code"] for each in quoted] == ["FR127"]


def test_very_large_workflows_that_somebody_means_are_taken() -> None:
    rules = ({"if": "sure == 'high' and mode == 'full'", "outcome": "ok"}, {"outcome": "iterate"})
    sure = Arg(choices=("low", "high"), required=True)
    made = Workflow(
        "large",
        *(
            StepDef(
                f"s{n}",
                "A",
                ["x"],
                reports={"sure": sure},
                rules=rules,  # type: ignore[arg-type]
                limit=5,
                next={"ok": f"s{n + 1}" if n < 9_999 else None, "iterate": f"s{n}"},
            )
            for n in range(10_000)
        ),
        params={"mode": Arg(choices=("quick", "full"), default="full")},
    )
    told = "".join(f"  - {{id: s{n}, title: A, next: {{ok: s{n + 1}}}}}\n" for n in range(40))
    long = put_skill(
        "long",
        f"name: NAME\nsteps:\n{told}  - {{id: s40, title: Z, actions: [x], next: {{ok: null}}}}\n",
        texts={f"steps/s{n}.md": f"{n} words " * 6_000 for n in range(40)},
    )

    assert made.total_steps == 10_000
    assert flow("check", str(long)).status == 0


@pytest.mark.parametrize(("count", "again"), [(1_300, False), (200, True)])
def test_what_is_read_too_early_is_told_of_large_workflows_too(count: int, again: bool) -> None:
    made = Workflow(
        "large",
        *(
            StepDef(
                f"s{n}",
                "A",
                [f"after $f{n - 1}" if n else "first", *(["$f7 comes"] if n == 3 else [])],
                reports={f"f{n}": Arg(required=True)},
                limit=3 if again else None,
                next={"ok": f"s{n + 1}" if n < count - 1 else None, **({"iterate": "s0"} if again else {})},
            )
            for n in range(count)
        ),
    )

    told = [(each.code, each.step) for each in advise(made, str)]

    assert told == [("FR161" if again else "FR126", "s3")]


def test_of_fences_that_stay_text_by_the_thousand_the_first_are_told() -> None:
    texts = {
        "steps/a.md": "```flow:nothing\n```\n" * 3_000,
        "steps/b.md": "```flow:resource\n" + "".join(f"r{n}\n" for n in range(9_000)) + "```\n",
    }
    told = "".join(
        f"  - {{id: s{n}, title: A, text: steps/{'ab'[n % 2]}.md, next: {{ok: s{n + 1}}}}}\n"
        for n in range(8)
    )
    folder = put_skill(
        "evil",
        f"name: NAME\nsteps:\n{told}  - {{id: s8, title: Z, actions: [x], next: {{ok: null}}}}\n",
        texts=texts,
    )

    findings = flow("check", str(folder), "--json").data["findings"]

    assert Counter(each["code"] for each in findings) == {"FR127": 5_000, "FR152": 5_000}


def test_a_folder_where_the_python_should_be_is_a_refusal() -> None:
    for name in ("python", "yaml"):
        folder = put_skill(name, file="other")
        inside = folder / ("workflow.py" if name == "python" else "workflow.yaml")
        inside.mkdir()
        (inside / "x").write_text("x")
    allow("python")

    refusals = [refused("step", name) for name in ("python", "yaml")]
    checked = flow("check", "python", "--json").data["findings"]

    assert [status for status, _ in refusals] == [2, 2]
    assert [error["code"] for _, error in refusals] == ["DOCUMENT", "FILE_NOT_REGULAR"]
    assert [each["code"] for each in checked] == ["FR100"]


def test_folders_count_among_the_files_that_can_be_vouched_for(tmp_path: Path) -> None:
    for n in range(50):
        (tmp_path / "/".join(f"{n}-{m}" for m in range(45))).mkdir(parents=True)

    with pytest.raises(TrustError, match="contains more than 2000 files and folders"):
        approval.snapshot(str(tmp_path))


def test_a_skill_in_front_of_a_bundled_one_is_read_once_to_be_allowed() -> None:
    name = "decision-critic"
    put_skill(name)
    allow(name)

    read = calls_of(lambda: flow("step", name, "--json"), "snapshot")

    assert (project_skills() / name).is_dir()
    assert read == 2, "its folder, and that of the bundled one"


def test_a_picture_with_too_many_bends_is_refused_with_another_format() -> None:
    ways = "".join(
        f"  - {{id: s{n}, title: A, actions: [x], next: {{ok: s{n + 1}, fail: s300}}}}\n" for n in range(300)
    )
    put_skill(
        "evil", f"name: NAME\nsteps:\n{ways}  - {{id: s300, title: Z, actions: [x], next: {{ok: null}}}}\n"
    )

    for form in ("svg", "png", "html"):
        ran = flow("diagram", "evil", "--format", form)
        assert (ran.status, "[PICTURE_TOO_LARGE]" in ran.err) == (2, True)
        assert "--format mermaid" in ran.err
    assert flow("diagram", "evil", "--format", "mermaid").status == 0
