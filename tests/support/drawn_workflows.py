"""Workflows to draw: a large one, and random ones with texts that try to break out."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from flowrail.machines.dispatch import Dispatch
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Option, Question
from flowrail.machines.step import Rule, StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome

PHASES = ("prepare", "look around", "design", "build", "verify", "review", "document", "deliver")


def sprawling(count: int = 200) -> Workflow:
    """Return a workflow with many steps: loops, gates, dispatches, questions, branches and phases."""
    return Workflow(
        "sprawling", *[_sprawled(number, count) for number in range(1, count + 1)], validate=False
    )


def _sprawled(number: int, count: int) -> StepDef:
    def named(at: int) -> str | None:
        return f"s{at}" if at <= count else None

    targets: dict[str, str | None] = {"ok": named(number + 1)}
    more: dict[str, object] = {}
    if number % 9 == 4:
        targets |= {"iterate": named(number)}
        more = {"limit": 5, "rules": [Rule("ok", "visit > 1"), Rule("iterate")]}
    elif number % 9 == 7:
        targets |= {"fail": named(number - 3)}
        more = {"gate": GateConfig("Review", review=f"s{number - 1}", limit=3)}
    elif number % 9 == 6:
        more = {"dispatch": Dispatch("explore", workflow="sprawling/look", over="areas", join="at least 2")}
        targets |= {"fail": named(number + 1)}
    elif number % 9 == 2:
        options = (Option("Yes", outcome="ok"), Option("No", outcome="skip"))
        more = {"questions": [Question("go", "Go", "Should it?", options)]}
        targets |= {"skip": named(number + 4)}
    elif number % 31 == 5:
        targets |= {"fail": None}
    phase = PHASES[(number - 1) * len(PHASES) // count]
    title = f"{phase.title()} part {number} of the whole"
    return StepDef(f"s{number}", title, ["Do it."], next=targets, phase=phase, **more)  # type: ignore[arg-type]


FEW = settings(max_examples=10, deadline=None)
"""For the normal run; the long forms try thousands."""

TEXTS = st.text(max_size=60) | st.sampled_from(
    [
        '"]',
        "end",
        '"] --> x',
        "`md`",
        "#quot;",
        "%%{init: {}}%%",
        "<script>alert(1)</script>",
        "</title></svg>",
        "]]>",
        "a\nb",
        "subgraph x",
        "-->|x|",
        "1. one",
        "- one",
        "fa:fa-user",
        "$$x^2$$",
        "\\N\\G\\\\",
        "\\",
        "&amp;&#34;",
        "{a|b} <c>",
        "\u202eevil",
        "\ud800",
        "שלום",
        "日本語の長い題名がここにある" * 5,
        "W" * 200,
        "",
        " ",
    ]
)
IDS = st.sampled_from(["end", "class", "style", "graph", "subgraph", "send", "a-b", "click", "default", "x"])
RUNS, JOINS = ("w/look", "other"), ("all", "any", "at least 2")


@st.composite
def _work(draw: st.DrawFn) -> Dispatch:
    over = draw(st.none() | TEXTS | st.just(("a", "b")))
    run = draw(st.none() | st.sampled_from(RUNS))
    return Dispatch(draw(TEXTS), workflow=run, over=over, join=draw(st.sampled_from(JOINS)))


@st.composite
def _steps(draw: st.DrawFn) -> StepDef:
    ways = st.dictionaries(st.sampled_from(list(Outcome)), st.none() | IDS, max_size=4)
    return StepDef(
        draw(IDS),
        draw(TEXTS),
        draw(st.lists(TEXTS, max_size=2)),
        next=draw(ways),
        phase=draw(st.none() | TEXTS | st.sampled_from(["a", "b"])),
        limit=draw(st.none() | st.integers(1, 9)),
        when=draw(st.none() | st.just("visit > 1") | TEXTS),
        dispatch=draw(st.none() | _work()),
        gate=GateConfig(draw(TEXTS), review=draw(IDS)) if draw(st.booleans()) else None,
    )


@st.composite
def odd(draw: st.DrawFn) -> Workflow:
    """Return an invalid workflow: ids of other languages, texts that break out, transitions to missing steps."""
    return Workflow(
        draw(TEXTS), *draw(st.lists(_steps(), max_size=7)), validate=False, description=draw(TEXTS)
    )


ODD = odd()
