from __future__ import annotations

from pathlib import Path

from support.sandbox import flow, told


def started() -> str:
    return str(told("start", "decision-critic")["session"])


def stepped(session: str, times: int) -> None:
    for _ in range(times):
        assert flow("step", "decision-critic", "ok", "--session", session).status == 0


def test_going_back_is_a_new_record_and_commands_printed_since_conflict() -> None:
    session = started()
    stepped(session, 3)

    back = told("session", "rewind", session, "--to", "1")

    assert (back["step"]["id"], back["revision"]) == ("classify_verifiability", 4)
    assert flow("step", "decision-critic", "ok", "--session", session, "--expect", "3").status == 4
    kinds = [item["kind"] for item in told("history", session)["steps"]]
    assert kinds == ["start", "move", "move", "move", "rewind"]


def test_a_fork_goes_on_from_there_and_leaves_the_other_alone() -> None:
    session = started()
    stepped(session, 2)
    Path(told("status", session)["work_folder"], "notes.md").write_text("# Notes\n")

    fork = told("session", "fork", session, "--at", "1")

    assert fork["session"] != session
    assert Path(fork["work_folder"], "notes.md").read_text() == "# Notes\n"
    assert fork["step"]["id"] == "classify_verifiability"
    assert told("resume", session)["step"]["id"] == "generate_questions"


def test_a_step_that_was_renamed_is_shown_first_and_then_migrated() -> None:
    folder = Path(".claude/skills/dull")
    folder.mkdir(parents=True)
    text = "name: dull\nsteps:\n- {id: look, title: Look, actions: [Look.], next: {ok: null}}\n"
    (folder / "workflow.yaml").write_text(text)
    session = str(told("start", "dull")["session"])
    (folder / "workflow.yaml").write_text(text.replace("id: look", "id: survey").replace("[Look.]", "[See.]"))
    assert flow("step", "dull", "ok", "--session", session).status == 5

    plan = told("session", "migrate", session, "--plan", "--map", "look=survey")
    done = told("session", "migrate", session, "--map", "look=survey")

    assert (plan["at"], plan["to"]) == ("look", "survey")
    assert done["step"]["id"] == "survey"
    assert flow("step", "dull", "ok", "--session", session).status == 0


def test_a_session_of_another_user_goes_on_once_it_is_adopted() -> None:
    session = started()
    key = next(Path.home().rglob("key"))
    key.write_text("ab" * 32)
    assert flow("step", "decision-critic", "ok", "--session", session).status == 7

    answer = flow("session", "adopt", session)

    assert "is yours now" in answer.out
    stepped(session, 1)
