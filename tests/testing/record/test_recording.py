"""`flow skill record` turns a session into a test; `flow skill replay` runs sessions against today's workflows."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import ASKING, allow, flow, put_python, put_skill, refused, sessions_folder, told

from flowrail.machines.exploration.actions import Act
from flowrail.machines.exploration.walks import plan
from flowrail.machines.sessions.store import Store
from flowrail.operations.environment import World
from flowrail.operations.running.load_workflow import open_skill
from flowrail.storage.ownership import Owner
from flowrail.testing.record.python_test import source
from flowrail.testing.record.replay import replay
from flowrail.testing.record.script import Script, Turn, script
from flowrail.testing.walks.play import Player
from flowrail.testing.walks.stage import Stage

HIGH = ("done", "-s", "sure=high", "-s", 'where=["src"]')
LOW = ("done", "-s", "sure=low", "-s", 'where=["src"]', "-s", 'note=it is\n"so"')
ALL = """\
name: NAME
params: {class: {type: string, default: x}}
steps:
  - id: ask
    title: Ask
    actions: [Ask.]
    questions: [{id: go, header: Go, text: "On?", options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}],
                 default: "Yes", deadline: 3600}]
    next: {ok: work, fail: null}
  - id: work
    title: Work
    actions: [Hand it out.]
    dispatch: {agent: explore, over: [a, b, c], prompt: steps/work.agent.md, join: any}
    next: {ok: gate, fail: null}
  - id: gate
    title: Gate
    actions: [Decide.]
    gate: {name: Work, review: work, limit: 1}
    next: {ok: try, fail: work}
  - id: try
    title: Try
    actions: [Try.]
    limit: 1
    reports: {outcome: {type: string, required: true}}
    next: {ok: null, fail: ask}
"""
TEXTS = {"steps/work.agent.md": "Look at $item.\n"}


def walk(skill: str, *reports: tuple[str, ...], given: tuple[str, ...] = ()) -> str:
    """Begin a session, report each of *reports* in turn, and return its id."""
    session = str(told("start", skill, *given)["session"])
    for words in reports:
        told("step", skill, *words, "--session", session)
    return session


def run_everything() -> str:
    """Return a session with an answer, agents that succeed, fail and are cancelled, findings and limits."""
    put_skill("all", ALL, texts=TEXTS)
    session = str(told("start", "all", "-p", "class=y")["session"])
    told("answer", session, "go=Yes")
    told("step", "all", "done", "--session", session)
    for number, outcome in ((1, "fail"), (2, "ok")):
        assignment = told("claim", session, f"d1-{number}")
        command = next(command for command in assignment["finish"] if f" {outcome} " in command)
        assert flow(*command.split()[1:]).status == 0
    told("finding", "add", session, "--severity", "MUST", "--text", "wrong")
    told("finding", "add", session, "--severity", "COULD", "--text", "odd")
    told("finding", "resolve", session, "F2")
    told("step", "all", "ok", "--session", session)
    told("step", "all", "done", "--session", session)
    told("answer", session, "limit=accept-the-risk", "--reason", "it is late")
    told("step", "all", "done", "--session", session)
    told("step", "all", "fail", "-s", "outcome=meant", "--session", session)
    told("answer", session, "limit=another-round")
    told("step", "all", "done", "--session", session)
    return session


def recorded(session: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Write a session down as a test and run it by itself."""
    file = folder / "test_it.py"
    file.write_text(flow("skill", "record", session).out)
    return subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)


def replays(*words: str) -> list[Any]:
    ran = flow("skill", "replay", *words, "--json")
    results: list[Any] = ran.data["replays"]
    assert ran.status == any(result["status"] == "differs" for result in results)
    return results


def test_a_recorded_test_contains_every_action(tmp_path: Path) -> None:
    session = run_everything()

    done = recorded(session, tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "test_it.py").read_text()
    assert f"Session `{session}` of 20" in text
    for line in (
        "run = Run(load('all'), **{'class': 'y'})",
        "run.answer(go='Yes')",
        "run.agents('fail', 'ok', '')",
        "run.finding('MUST', 'wrong')",
        "run.resolve('F2')",
        "run.answer(limit='Accept the risk')",
        "run.report('fail', outcome='meant')",
        "== ('try', 'waiting')  # its limit asks the user",
    ):
        assert line in text, line
    assert replays(session)[0]["status"] == "same"


@pytest.mark.parametrize("began", ['""";X()\n#z', '"""%x+"""', "\\\n", "2026\u202e-01", ""])
def test_foreign_text_never_becomes_code_in_a_recorded_test(began: str) -> None:
    params = {"fi": 1, "\ufb01": 2, "__debug__": 3, "x\n): pass": '"""', "class": None}
    act = Act("ok'", params, findings=(("MUST\n", "'"),), answers=(("q)", ('"',)),))
    turn = Turn('a"\n', act, to="b\\")

    text = source(Script("odd-aaaaaa", "odd'", params, 'x"', (turn,), began))

    module = ast.parse(text)
    assert [type(statement).__name__ for statement in module.body] == [
        "Expr",
        "ImportFrom",
        "FunctionDef",
        "If",
    ]
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    assert {ast.unparse(call.func) for call in calls} == {
        *("Run", "load", "run.finding", "run.answer", "run.report", "test_odd_aaaaaa", "print")
    }


@pytest.mark.parametrize(
    ("old", "new", "number", "reason"),
    [
        ("sure == 'high'", "sure == 'low'", 1, "leads to `tell`; it led to `look`"),
        ("fail: null}}", "skip: null}}", 3, "[OUTCOME_NOT_OPEN]"),
        ("topic", "about", 0, "`topic` is not known"),
        (
            "steps:",
            "entry: new\nsteps:\n  - {id: new, title: New, actions: [New.], next: {ok: look}}",
            0,
            "it starts at `new`; it started at `look`",
        ),
        ("title: Tell", "title: Say", None, ""),
    ],
)  # fmt: skip
def test_the_first_report_that_would_go_elsewhere_is_named(
    old: str, new: str, number: int | None, reason: str
) -> None:
    folder = put_skill("asking", ASKING)
    session = walk("asking", LOW, HIGH, ("fail",), given=("-p", "topic=cats"))
    text = (folder / "workflow.yaml").read_text()
    assert old in text
    (folder / "workflow.yaml").write_text(text.replace(old, new))

    (replayed,) = replays(session)

    assert (replayed["divergence"] or {"number": None})["number"] == number
    assert reason in replayed["reason"]
    assert (replayed["status"] == "differs") is (number is not None)


def test_rewound_reports_are_left_out_and_forks_begin_with_their_source(tmp_path: Path) -> None:
    put_skill("asking", ASKING)
    session = walk("asking", LOW, HIGH, ("fail",))
    assert refused("session", "rewind", session, "--to", "9")[0] == 2
    other = walk("asking", LOW, LOW)
    told("session", "rewind", other, "--to", "1")
    told("step", "asking", *HIGH, "--session", other)
    forked = str(told("session", "fork", session, "--at", "2")["session"])
    told("step", "asking", "ok", "--session", forked)
    again = str(told("session", "fork", forked, "--at", "2")["session"])

    turns = {result["session"]: result["reports"] for result in replays()}

    assert turns == {session: 3, other: 2, forked: 3, again: 2}
    assert all(result["status"] == "same" for result in replays())
    assert recorded(forked, tmp_path).returncode == 0


def test_steps_stand_under_the_names_of_today(tmp_path: Path) -> None:
    folder = put_skill("asking", ASKING)
    session = walk("asking", LOW)
    for old, new in (("look", "watch"), ("watch", "see")):
        text = (folder / "workflow.yaml").read_text()
        (folder / "workflow.yaml").write_text(text.replace(old, new))
        told("session", "migrate", session, "--map", f"{old}={new}")
    told("session", "rewind", session, "--to", "0")
    told("step", "asking", *HIGH, "--session", session)

    assert replays(session)[0]["status"] == "same"
    assert "assert run.step == 'see'" in flow("skill", "record", session).out
    assert recorded(session, tmp_path).returncode == 0


def test_changed_dispatches_and_questions_are_named() -> None:
    session = run_everything()
    folder = Path.cwd() / ".claude" / "skills" / "all"
    text = (folder / "workflow.yaml").read_text()

    (folder / "workflow.yaml").write_text(text.replace("[a, b, c]", "[a, b]"))
    assert "has 2 dispatches, and 3 results were given" in replays(session)[0]["reason"]
    (folder / "workflow.yaml").write_text(text.replace("id: go", "id: on"))
    assert "does not ask `go`" in replays(session)[0]["reason"]
    (folder / "workflow.yaml").write_text(text.replace('"Yes"', '"Yeah"'))
    assert "has no option `Yes`" in replays(session)[0]["reason"]
    (folder / "workflow.yaml").write_text("steps: [")
    assert "[INVALID_WORKFLOW]" in replays(session)[0]["reason"]


def test_code_runs_only_if_approved_and_its_errors_are_reported() -> None:
    folder = put_python("py")
    allow("py")
    session = walk("py", ("done",))
    assert replays()[0]["status"] == "same"
    text = (folder / "workflow.py").read_text()
    (folder / "workflow.py").write_text(text.replace("return Outcome.OK", 'raise LookupError("lost")'))

    (untrusted,) = replays()
    allow("py")
    (raised,) = replays(session)

    assert untrusted["status"] == "skipped"
    assert "flow skill trust py" in untrusted["reason"]
    assert raised["status"] == "differs"
    assert "lost" in raised["reason"]


def test_an_unreadable_session_is_skipped_and_refused_if_it_was_named() -> None:
    put_skill("asking", ASKING)
    put_skill("asking-more")
    other = walk("asking-more")
    broken = walk("asking")
    journal = sessions_folder() / broken / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b"look", b"lock"))

    assert {result["session"]: result["status"] for result in replays()} == {other: "same", broken: "skipped"}
    assert f"{broken}: " in flow("skill", "replay").out
    assert refused("skill", "replay", broken)[0] == 3
    assert refused("skill", "record", broken)[0] == 3
    assert refused("skill", "replay", "nosuch")[0] == 2


@pytest.mark.parametrize(
    "address",
    ["problem-analysis", "decision-critic", pytest.param("planner/executor", marks=pytest.mark.long)],
)
def test_every_walk_of_a_bundled_skill_is_recorded_as_it_went(address: str, tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"), Owner(str(tmp_path / "state")))
    world = World(store, (), str(tmp_path / "state"), lambda: "2026-01-01T00:00:00.000Z", "test", store.path)
    world = world._replace(demands_evidence=False)
    workflow = open_skill(address, (), world.state).workflow
    player = Player(Stage(world))
    for walk_through in plan(workflow).walks[:3]:
        assert player.play(address, walk_through).passed

    for session in store.ids():
        if store.read(session).session.skill == address:
            written = script(store, session)
            assert replay(workflow, written) is None
            assert written.turns[-1].to is None
            exec(compile(source(written), session, "exec"), {"__name__": "__main__"})  # noqa: S102
