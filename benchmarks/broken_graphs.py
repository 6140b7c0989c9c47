"""The same broken graphs in five tools: which mistakes does each find before anything runs?

Run: pip install --group peers, then python benchmarks/broken_graphs.py. Tools that are not installed are left out.
Each graph is written as in the tool's documentation: one function per step, which returns the outcome.
A run then reports the outcomes that lead to the mistake.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

ROUNDS = 60


class Graph(NamedTuple):
    """A graph with one mistake: steps, transitions as (step, outcome, target), and the reported outcomes.

    ``reads`` is a step with the value that it reads, ``only_if`` a step that follows `look` only if a value is equal to
    another one; in both, `mode` can be quick or full. ``decided`` means that `look` decides on its outcome itself.
    """

    mistake: str
    steps: tuple[str, ...]
    transitions: tuple[tuple[str, str, str | None], ...]
    reported: tuple[str, ...]
    entry: str = "look"
    reads: tuple[str, str] | None = None
    only_if: tuple[str, str, str] | None = None
    decided: bool = False

    def of(self, step: str) -> list[tuple[str, str | None]]:
        """Return the outcomes and targets of a step."""
        return [(outcome, target) for source, outcome, target in self.transitions if source == step]

    def value_read_by(self, step: str) -> str:
        """Return the name of the value that a step reads, or an empty text."""
        return self.reads[1] if self.reads is not None and self.reads[0] == step else ""


LOOK, TELL = ("look", "ok", "tell"), ("tell", "ok", None)
TWO = ("look", "tell")
THREE = ("look", "dig", "tell")
BRANCH = (LOOK, ("look", "ok", "dig"), ("dig", "ok", "tell"), TELL)
GRAPHS = (
    Graph("A transition leads to a missing step", TWO, (LOOK, ("look", "fail", "reprot"), TELL), ("fail",)),
    Graph("The first step is missing", TWO, (LOOK, TELL), ("ok", "ok"), entry="lok"),
    Graph("A step cannot be reached", THREE, (LOOK, TELL, ("dig", "ok", "tell")), ("ok", "ok")),
    Graph(
        "A step cannot reach an end",
        THREE,
        (LOOK, ("look", "fail", "dig"), ("dig", "ok", "dig"), TELL),
        ("fail", *("ok",) * ROUNDS),
    ),
    Graph("A step has no transition", THREE, (LOOK, ("look", "fail", "dig"), TELL), ("fail", "ok")),
    Graph("Two steps have the same name", ("look", "tell", "tell"), (LOOK, TELL), ("ok", "ok")),
    Graph(
        "One outcome has two transitions",
        THREE,
        (LOOK, ("look", "ok", "dig"), ("dig", "ok", None), TELL),
        ("ok", "ok", "ok"),
    ),
    Graph("A step decides on an outcome without a transition", TWO, (LOOK, TELL), ("skip",), decided=True),
    Graph("A loop has no limit", TWO, (LOOK, ("look", "iterate", "look"), TELL), ("iterate",) * ROUNDS),
    Graph("A step reads a value that is never set", TWO, (LOOK, TELL), ("ok", "ok"), reads=("tell", "note")),
    Graph(
        "A condition reads a value that is never set",
        THREE,
        BRANCH,
        ("ok", "ok", "ok"),
        only_if=("dig", "mood", "good"),
    ),
    Graph(
        "A condition is never true",
        THREE,
        BRANCH,
        ("ok", "ok", "ok"),
        only_if=("dig", "mode", "all"),
    ),
    Graph(
        "A transition leads to an existing step, but not the intended one",
        THREE,
        (("look", "ok", "dig"), ("look", "fail", "dig"), ("dig", "ok", "tell"), TELL),
        ("fail", "ok", "ok"),
    ),
)
FACTS = {"mode": "full"}


class EnoughError(Exception):
    """All outcomes were reported, and the run would continue."""


class Agent:
    """Reports one outcome after the other, and records the steps that it reached."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.seen: list[str] = []

    def report(self, step: str, values: Any) -> str:
        """Return the outcome of *step*."""
        if len(self.seen) == len(self.graph.reported):
            raise EnoughError
        self.seen.append(step)
        if name := self.graph.value_read_by(step):
            _ = values[name]
        return self.graph.reported[len(self.seen) - 1]


Build = Callable[[Graph, Agent], Callable[[], object]]
"""Builds a graph with a tool, and returns a function that runs it."""


class Tool(NamedTuple):
    """A tool, its module and package, and how to build a graph with it."""

    name: str
    module: str
    package: str
    build: Build


# --- flowrail


def flowrail(graph: Graph, agent: Agent) -> Callable[[], object]:
    """Write the skill and check it; findings are raised."""
    from flowrail import Report, advance, load_workflow, start
    from flowrail.operations.skills.skill_check import check
    from flowrail.skills.loader import Loader

    with tempfile.TemporaryDirectory() as folder:
        skill = Path(folder) / "demo"
        skill.mkdir()
        (skill / "workflow.yaml").write_text(as_yaml(graph), encoding="utf-8")
        findings = [
            finding for report in check([str(skill)], Loader(), folder) for finding in report.findings
        ]
        if findings:
            raise FoundError(", ".join(dict.fromkeys(finding.code for finding in findings)))
        workflow = load_workflow(skill)

    def run() -> None:
        session = start(workflow)
        while session.step is not None:
            session = advance(workflow, session, Report(agent.report(session.step, session.state)))

    return run


class FoundError(Exception):
    """Findings, by their codes."""


def as_yaml(graph: Graph) -> str:
    """Return a graph as a workflow."""
    lines = ["name: demo", "params: {mode: {type: string, choices: [quick, full], default: full}}"]
    lines += [f"entry: {graph.entry}"] if graph.entry not in graph.steps else []
    lines += ["steps:"]
    for step in graph.steps:
        transitions = graph.of(step)
        if graph.only_if is not None and step == "look":
            transitions = transitions[-1:]
        name = graph.value_read_by(step)
        text = f"Do it, with ${name}." if name else "Do it."
        lines += [f"  - id: {step}", f"    title: {step.title()}", f'    actions: ["{text}"]']
        if graph.only_if is not None and graph.only_if[0] == step:
            lines += [f"    when: \"{graph.only_if[1]} == '{graph.only_if[2]}'\""]
        if graph.decided and step == "look":
            lines += ["    rules: [{outcome: skip}]"]
        targets = ", ".join(f"{outcome}: {target or 'null'}" for outcome, target in transitions)
        lines += [f"    next: {{{targets}}}"]
    return "\n".join(lines) + "\n"


# --- the others


def langgraph(graph: Graph, agent: Agent) -> Callable[[], object]:
    """Nodes, and conditional edges with a table of outcomes."""
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict, total=False):
        outcome: str
        mode: str

    built: Any = StateGraph(State)
    for step in graph.steps:
        built.add_node(step, lambda state, step=step: {"outcome": agent.report(step, state)})
    built.add_edge(START, graph.entry)
    for step in dict.fromkeys(graph.steps):
        transitions = [(outcome, target or END) for outcome, target in graph.of(step)]
        if not transitions:
            continue
        if graph.only_if is not None and step == "look":
            name, value = graph.only_if[1:]
            targets = [target for _, target in transitions]
            built.add_conditional_edges(
                step, lambda state, n=name, v=value, t=targets: t[1] if state[n] == v else t[0], targets
            )
        elif len(dict(transitions)) < len(transitions):
            for _, target in transitions:
                built.add_edge(step, target)
        else:
            built.add_conditional_edges(step, lambda state: state["outcome"], dict(transitions))
    app = built.compile()
    return lambda: app.invoke(dict(FACTS))


def burr(graph: Graph, agent: Agent) -> Callable[[], object]:
    """Actions, and transitions by the outcome in the state."""
    from burr.core import ApplicationBuilder, State, action, when

    def made(step: str) -> Any:
        @action(reads=list(filter(None, [graph.value_read_by(step)])), writes=["outcome"])
        def act(state: State) -> State:
            return state.update(outcome=agent.report(step, state))

        return act

    @action(reads=[], writes=[])
    def end(state: State) -> State:
        return state

    transitions = []
    for source, outcome, target in graph.transitions:
        condition = when(outcome=outcome)
        if graph.only_if is not None and source == "look":
            if target != graph.only_if[0]:
                continue
            transitions.append((source, target, when(**{graph.only_if[1]: graph.only_if[2]})))
            transitions.append((source, "tell"))
            continue
        transitions.append((source, target or "end", condition))
    builder = ApplicationBuilder().with_actions(end=end)
    for step in graph.steps:
        builder = builder.with_actions(**{step: made(step)})
    app = builder.with_transitions(*transitions).with_state(**FACTS).with_entrypoint(graph.entry).build()

    def run() -> None:
        while (done := app.step()) is not None and done[0].name != "end":
            pass

    return run


def transitions(graph: Graph, agent: Agent) -> Callable[[], object]:
    """States and triggers, which the model calls by name."""
    from transitions import Machine

    class Model:
        """The model of the machine, with the known values as attributes."""

        mode = FACTS["mode"]
        state = ""
        trigger: Callable[[str], bool]

    model = Model()
    if graph.only_if is not None and graph.only_if[1] in FACTS:
        name, value = graph.only_if[1:]
        model.holds = lambda: getattr(model, name) == value  # type: ignore[attr-defined]
    machine = Machine(model, states=[*graph.steps, "end"], initial=graph.entry, auto_transitions=False)
    for source, outcome, target in (
        graph.transitions if graph.only_if is None else reversed(graph.transitions)
    ):
        asks = graph.only_if is not None and source == "look" and target == graph.only_if[0]
        conditions = (
            ("holds" if graph.only_if and graph.only_if[1] in FACTS else "mood_is_good") if asks else None
        )
        machine.add_transition(outcome, source, target or "end", conditions=conditions)

    def run() -> None:
        while model.state != "end":
            model.trigger(agent.report(model.state, vars(model)))

    return run


def pydantic_graph(graph: Graph, agent: Agent) -> Callable[[], object]:
    """Build steps, each with a decision that matches the outcome."""
    from pydantic_graph import GraphBuilder, StepContext, TypeExpression

    built: Any = GraphBuilder(state_type=dict, input_type=type(None), output_type=str)

    def made(step: str) -> Any:
        async def act(ctx: StepContext[Any, Any, Any]) -> str:
            return agent.report(step, ctx.state)

        return built.step(act, node_id=step)

    steps: dict[str | None, Any] = {None: built.end_node}
    steps |= {step: made(step) for step in dict.fromkeys(graph.steps)}
    duplicates = [made(step) for place, step in enumerate(graph.steps) if step in graph.steps[:place]]
    built.add(built.edge_from(built.start_node).to(steps[graph.entry]))
    for step in dict.fromkeys(graph.steps):
        if not graph.of(step):
            continue
        decision = built.decision()
        if graph.only_if is not None and step == "look":
            name, value = graph.only_if[1:]
            holds = built.match(str, matches=lambda _, n=name, v=value: FACTS[n] == v)
            decision = decision.branch(holds.to(steps[graph.only_if[0]]))
            decision = decision.branch(built.match(str).to(steps["tell"]))
        else:
            for outcome, target in graph.of(step):
                kind = TypeExpression[Literal[outcome]]  # type: ignore[valid-type]
                decision = decision.branch(built.match(kind).to(steps[target]))
        built.add(built.edge_from(steps[step]).to(decision))
    for duplicate in duplicates:
        built.add(built.edge_from(duplicate).to(built.end_node))
    app = built.build()
    return lambda: asyncio.run(app.run(state=dict(FACTS), inputs=None))


TOOLS = (
    Tool("flowrail", "flowrail", "flowrail", flowrail),
    Tool("LangGraph", "langgraph", "langgraph", langgraph),
    Tool("Burr", "burr", "apache-burr", burr),
    Tool("transitions", "transitions", "transitions", transitions),
    Tool("pydantic-graph", "pydantic_graph", "pydantic-graph", pydantic_graph),
)


# --- the table


def result(tool: Tool, graph: Graph) -> str:
    """Return when a mistake is found, and by which error or finding."""
    agent = Agent(graph)
    try:
        run = tool.build(graph, agent)
    except FoundError as found:
        return f"before: {found}"
    except Exception as error:  # noqa: BLE001 - any error that a tool raises while it builds
        return f"before: {type(error).__name__}"
    try:
        run()
    except Exception as error:  # noqa: BLE001 - any error that a tool raises in a run
        if _is_enough(error):
            return f"never: {_path(agent.seen)}, without end"
        return f"in the run: {type(error).__name__} at {agent.seen[-1] if agent.seen else 'the start'}"
    return f"never: {_path(agent.seen)}, then ends"


def _is_enough(error: BaseException | None) -> bool:
    """Return whether *error* is an EnoughError or wraps one."""
    while error is not None:
        inner = getattr(error, "exceptions", ())
        if isinstance(error, EnoughError) or any(_is_enough(wrapped) for wrapped in inner):
            return True
        error = error.__cause__ or error.__context__
    return False


def _path(seen: list[str]) -> str:
    """Return the steps of a run, each once, with the number of all steps if there was a loop."""
    shown = list(dict.fromkeys(seen))
    times = f" {len(seen)} times" if len(seen) > len(shown) + 1 else ""
    return ", ".join(shown) + times


def table(tools: list[Tool]) -> Iterator[str]:
    """Yield the lines of the table."""
    head = ["Mistake", *(f"{tool.name} {version(tool.package)}" for tool in tools)]
    rows = [[graph.mistake, *(result(tool, graph) for tool in tools)] for graph in GRAPHS]
    counts = [sum(row[place].startswith("before") for row in rows) for place in range(1, len(head))]
    rows.append(["**Found before anything runs**", *(f"**{count} of {len(GRAPHS)}**" for count in counts)])
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |"


def main() -> None:
    """Print the table."""
    logging.disable(logging.CRITICAL)
    installed = [tool for tool in TOOLS if importlib.util.find_spec(tool.module) is not None]
    for tool in TOOLS:
        if tool not in installed:
            print(f"{tool.name} is not installed: pip install {tool.package}", file=sys.stderr)
    print("\n".join(table(installed)))


if __name__ == "__main__":
    main()
