"""Oversized parts of a workflow are refused with a finding, and large honest workflows are accepted."""

from __future__ import annotations

from support.sandbox import flow, put_skill

from flowrail import StepDef, Workflow
from flowrail.machines.definition.values import Arg


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
                rules=rules,
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
