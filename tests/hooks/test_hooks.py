"""What hooks answer to the documented protocols of hosts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.dispatching_skill import put_lead
from support.hooks import HOSTS, A, B, claude_code, context, denied, hook, reason, shell, within
from support.sandbox import SMALL, flow, put_skill, told

FORBIDDING = SMALL.replace(
    "actions: [Do the first thing.],", "actions: [Do.], forbids: [Edit, 'Bash(git push*)'],"
)
QUESTION = """\
[{"id": "go", "header": "Go", "text": "Should we?", "options": [{"label": "Yes"}, {"label": "No"}]}]"""


def start(skill: str = "small", conversation: str | None = A, **more: str) -> str:
    session = within(conversation, "step", skill, "--new", **more)["session"]
    assert isinstance(session, str)
    return session


def stop(session: str = A, **more: Any) -> str:
    return reason(hook("stop", claude_code("stop", session, **more)))


def begin(session: str = A, source: str = "startup", **more: Any) -> str:
    return context(hook("session-start", claude_code("session-start", session, source=source, **more)))


def use(tool: str, session: str = A, **more: Any) -> str:
    tool_input = more.pop("tool_input", {"file_path": "a.py"})
    return denied(
        hook(
            "pre-tool-use",
            claude_code("pre-tool-use", session, tool_name=tool, tool_input=tool_input, **more),
        )
    )


@pytest.fixture(autouse=True)
def skills() -> None:
    put_skill("small")
    put_skill("strict", FORBIDDING)


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_is_told_and_held_in_its_own_words(host: str) -> None:
    says, variable = HOSTS[host]
    session = start("strict", variable=variable)

    assert f"flow resume {session}" in context(hook("session-start", says("session-start")))
    assert "git push" in denied(hook("pre-tool-use", says("pre-tool-use")))
    assert f"flow resume {session}" in reason(hook("stop", says("stop")))
    assert hook("subagent-stop", says("subagent-stop")) == {}
    assert hook("post-tool-use", says("post-tool-use")) == {}
    assert hook("session-end", says("session-end")) == {}


@pytest.mark.every_store
def test_an_agent_is_kept_working_while_its_session_is_active_three_times_before_it_moves() -> None:
    session = start()

    held = [stop() for _ in range(5)]

    store = "" if "FLOW_STORE" in os.environ else f" --store {Path.cwd() / '.flow'}"
    text = (
        f"You are not finished: small, step 1 of 2. Run `flow resume {session}{store}`, do the step, "
        f"report it. If you need the user, run `flow ask {session} -{store}`."
    )
    assert held == [text] * 3 + ["", ""]
    assert stop(B) == "", "another conversation"
    within(A, "step", "small", "ok")
    assert "step 2 of 2" in stop()
    within(A, "step", "small", "ok")
    assert stop() == ""


def test_a_session_is_held_for_the_conversation_that_took_it_over() -> None:
    session = start()
    within(B, "step", "small", "ok", "--session", session, "--take-over")

    assert stop(A) == ""
    assert session in stop(B)
    within(None, "resume", session)
    assert session in stop(B)
    assert flow("audit", "--verify").status == 0


def test_a_tool_that_the_step_forbids_is_denied_with_the_reason_and_the_way_on() -> None:
    session = start("strict")

    why = use("Write")

    for part in (
        "`first`",
        "`strict`",
        "`Edit`",
        f"`flow resume {session} ",
    ):
        assert part in why
    assert "`Bash(git push*)`" in use("Bash", tool_input={"command": "cd x && git push -f"})
    assert use("Bash", tool_input={"command": "git status"}) == ""
    assert use("Bash", tool_input={"command": f"flow step strict ok --session {session}"}) == ""
    assert use("Read") == ""
    within(A, "step", "strict", "ok")
    assert use("Write") == ""


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_file_is_forbidden_by_whatever_way_it_is_reached_and_wherever_sessions_lie(
    elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if elsewhere:
        monkeypatch.setenv("FLOW_STORE", str(tmp_path / "store" / "x"))
    put_skill("narrow", FORBIDDING.replace("[Edit,", "['Edit(src/**)',"))
    start("narrow")
    project, link = Path.cwd(), tmp_path / "link"
    link.symlink_to(project)

    for cwd in (project, link):
        for path in (project / "src/a.py", link / "src/a.py", "src/a.py"):
            assert "`Edit(src/**)`" in use("Edit", cwd=str(cwd), tool_input={"file_path": str(path)})
        assert use("Edit", cwd=str(cwd), tool_input={"file_path": "other/a.py"}) == ""
        assert use("Edit", cwd=str(cwd), tool_input={"file_path": "other/a\0.py"}) == ""


class TestAgentsThatWorkForOthers:
    """`put_lead` makes a step that gives work to three agents."""

    @pytest.fixture(autouse=True)
    def lead(self) -> None:
        put_lead(one=ONE_FORBIDDING)

    def started(self, number: int = 0) -> tuple[str, str]:
        """Return a parent and a child that its conversation started."""
        shown = within(A, "step", "lead")
        child = within(A, *shown["dispatches"][number]["command"].split()[1:])
        return shown["session"], child["session"]

    def subagent_stop(self, agent: str = "a1b2c3d", **more: Any) -> str:
        return reason(hook("subagent-stop", claude_code("subagent-stop", agent_id=agent, **more)))

    def start_in_agent(self, number: int, agent: str) -> str:
        """Start a child session in a sub-agent's shell and return its id."""
        dispatch = told("sessions", told("sessions")["sessions"][-1]["session"])["dispatches"][number]
        ran = shell(f"{dispatch['command']} --json", agent)
        return str(ran.data["session"])

    @pytest.mark.every_store
    def test_one_is_known_by_its_command_and_kept_working_until_it_has_ended(self) -> None:
        within(A, "step", "lead")
        first, second = self.start_in_agent(0, "one"), self.start_in_agent(1, "two")

        assert f"flow resume {first}" in self.subagent_stop("one")
        assert f"flow resume {second}" in self.subagent_stop("two")
        assert self.subagent_stop("three") == "", "it started nothing"
        within(A, "step", "lead/one", "ok", "--session", first)
        assert self.subagent_stop("one") == ""
        assert self.subagent_stop("two")
        assert flow("audit", "--verify").status == 0

    def test_neither_a_mention_in_a_transcript_nor_being_the_only_one_makes_an_agent_ours(
        self, tmp_path: Path
    ) -> None:
        _, child = self.started()
        transcript = tmp_path / "agent.jsonl"
        transcript.write_text(f"flow step lead/one ok --session {child}\n" * 3)

        assert self.subagent_stop(agent_transcript_path=str(transcript)) == ""
        hook_input = claude_code("subagent-stop")
        del hook_input["agent_id"]
        assert hook("subagent-stop", hook_input) == {}

    def test_one_with_a_conversation_of_its_own_is_known_by_it(self) -> None:
        shown = within(A, "step", "lead")
        first, second = (
            within(name, *shown["dispatches"][at]["command"].split()[1:])["session"]
            for at, name in enumerate((B, "c"))
        )

        assert first in self.subagent_stop(B)
        assert second in self.subagent_stop("c")
        assert use("Edit", agent_id=B)
        assert stop(B) == ""

    @pytest.mark.every_store
    def test_one_that_lost_its_work_or_asks_the_user_may_end(self) -> None:
        within(A, "step", "lead")
        child = self.start_in_agent(0, "one")
        parent = told("sessions")["sessions"][-1]["session"]
        Path("q.json").write_text(QUESTION)
        within(A, "ask", child, "q.json")
        assert self.subagent_stop("one") == ""
        within(A, "answer", child, "go=Yes")
        assert self.subagent_stop("one")
        within(A, "step", "--session", parent, "--again", "1")
        assert self.subagent_stop("one") == ""

    @pytest.mark.every_store
    def test_the_lead_may_end_its_turn_only_while_all_its_agents_work_or_ask(self) -> None:
        within(A, "step", "lead")
        assert "0 of 3 agents finished, 3 not started" in stop()
        children = [self.started(number)[1] for number in range(2)]
        assert "2 at work, 1 not started (last report just now)" in stop()
        children.append(self.started(2)[1])
        assert stop() == ""
        assert stop(background_tasks=[{"id": "x", "type": "subagent", "status": "running"}]) == ""
        assert stop(background_tasks=[]), "the host says that no agent runs"
        Path("q.json").write_text(QUESTION)
        within(A, "ask", children[0], "q.json")
        assert stop(background_tasks=[]) == ""
        within(A, "answer", children[0], "go=Yes")
        for child in children:
            within(A, "step", "lead/one", "fail", "--session", child)
        assert "0 of 3 agents finished, 3 failed" in stop()

    def test_the_lead_may_end_its_turn_if_workers_of_a_fleet_start_its_agents(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        within(A, "step", "lead")
        monkeypatch.setenv("FLOW_FLEET", "1")

        assert stop() == ""
        for number in range(3):
            within(A, "step", "lead/one", "ok", "--session", self.started(number)[1])
        assert "You are not finished" in stop()

    def test_progress_of_a_sub_agent_begins_the_count_again(self) -> None:
        within(A, "step", "lead")
        assert [bool(stop()) for _ in range(4)] == [True, True, True, False]

        _, child = self.started(0)
        assert [bool(stop()) for _ in range(4)] == [True, True, True, False]
        within(A, "step", "lead/one", "ok", "--session", child)

        assert "1 of 3 agents finished, 2 not started" in stop()
        assert flow("audit", "--verify").status == 0

    def test_an_agent_is_denied_what_its_own_step_forbids_and_others_are_not(self) -> None:
        within(A, "step", "lead")
        self.start_in_agent(0, "one")

        assert "`lead/one`" in use("Edit", agent_id="one")
        assert use("Edit") == ""
        assert use("Edit", agent_id="two") == "", "its work is not known"


def test_a_conversation_that_ended_leaves_its_sessions_to_others() -> None:
    session = start()

    hook("session-end", claude_code("session-end", A))

    assert "Belongs to no conversation." in begin(B)
    assert stop(B) == ""
    assert [record["kind"] for record in told("sessions", session)["history"]] == ["start", "released"]
    assert "released" in flow("sessions", session).out
    assert within(B, "step", "small", "ok", "--session", session)["revision"] == 1
    assert stop(B)
    assert flow("audit", "--verify").status == 0


ONE_FORBIDDING = """\
name: NAME/one
params: {area: {type: string, required: true}}
steps:
  - {id: first, title: First, actions: ["Look at $area."], forbids: [Edit], next: {ok: null, fail: null}}
"""


def test_a_shell_that_is_not_told_its_conversation_is_told_by_the_start(
    tmp_path: Path, monkeypatch: Any
) -> None:
    file = tmp_path / "env.sh"
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(file))

    begin(A)
    begin(B)

    assert file.read_text().splitlines() == [
        f"export FLOW_HOST_SESSION={conversation}" for conversation in (A, B)
    ]
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", A)
    begin(A)
    assert len(file.read_text().splitlines()) == 2
    start(conversation=B, variable="FLOW_HOST_SESSION")
    assert stop(B)
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
    monkeypatch.setenv("CLAUDE_ENV_FILE", "relative")
    begin(A)
    assert not Path("relative").exists()
