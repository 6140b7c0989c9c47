"""Hooks deny what flow runs itself and what only a person decides, and note what happens inside a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.hooks import A, B, claude_code, context, conversation, denied, hook, within
from support.sandbox import allow, flow, put_skill, sessions_folder

SKILL = """\
name: NAME
description: Count and book.
params: {house: {type: string, default: elm}}
steps:
  - id: book
    title: Book
    actions: [Book it.]
    commands:
      book: {run: [tools/book, --, $house], once: true}
      tests: {run: [cat, src/a.txt], reads: ["src/**"]}
    next: {ok: other}
  - {id: other, title: Other, actions: [Do.], next: {ok: null}}
"""


def before(line: str, conversation: str = A, **more: Any) -> str:
    """Return why a shell line is denied, or an empty text."""
    given = {"tool_name": "Bash", "tool_input": {"command": line}, **more}
    return denied(hook("pre-tool-use", claude_code("pre-tool-use", conversation, **given)))


def after(tool: str, tool_input: dict[str, str], response: dict[str, Any]) -> str:
    """Return what an agent reads after a tool was used."""
    given: dict[str, Any] = {"tool_name": tool, "tool_input": tool_input, "tool_response": response}
    answer = hook("post-tool-use", claude_code("post-tool-use", **given))
    return str(answer["hookSpecificOutput"]["additionalContext"]) if answer else ""


@pytest.fixture
def session() -> str:
    put_skill("stock", SKILL)
    Path("src").mkdir()
    Path("src/a.txt").write_text("1\n")
    return str(within(A, "step", "stock", "-p", "house=big elm")["session"])


PEOPLES = [
    "flow approve --session x plan",
    "flow waive x-aaaaaa tests",
    "flow trust py",
    "flow trust --session x-aaaaaa y",
    "cd /tmp && /usr/bin/flow approve x",
    "env -u CLAUDE_CODE_SESSION_ID flow approve x",
    "sudo flowrail waive x",
    "python3 -m flowrail approve x",
    "bash -c 'flow approve x'",
    "script -qc 'flow approve x' /dev/null",
    "setsid flow trust py",
    "tmux new-session -d 'flow approve x'",
    "tmux send-keys 'flow trust py' Enter",
    "expect -c 'spawn flow approve x; interact'",
    "python3 -c \"import pty; pty.spawn(['flow', 'approve', 'x'])\"",
    "echo x | xargs flow trust",
    "cat <<E\nDon't\nE\nflow trust py",
    # An answer may be relayed, but not from a shell that hides whose it is.
    "env -u CLAUDE_CODE_SESSION_ID flow answer x ship=Yes",
    "env -i flow answer x ship=Yes",
    "unset CLAUDE_CODE_SESSION_ID; flow answer x ship=Yes",
    "CLAUDE_CODE_SESSION_ID= flow answer x ship=Yes",
    "script -qec 'flow answer x ship=Yes' /dev/null",
    "cat ~/.local/state/flowrail/ui-0123456789abcdef.html",
    # A page of its own, or a call of the hook that reports what the user answered.
    "script -qec 'flow ui --no-open' /dev/null",
    "env -u CLAUDE_CODE_SESSION_ID flow ui",
    "flow hook post-tool-use < answers.json",
    "echo {} >> .flow/sessions/x-aaaaaa/journal.jsonl",
    "cp x ~/.local/state/flowrail/trust/y.json; echo {} > $HOME/.local/state/flowrail/key",
]
AGENTS = [
    "flow answer x-aaaaaa ship=Yes",
    "flow step release ok --session release-aaaaaa",
    "flow trust",
    "flow ui --no-open",
    "flow hook stop < said.json",
    "cat .flow/sessions/x-aaaaaa/journal.jsonl",
    "flow trust --json",
    "flow approve --help",
    "git commit -m 'flow approve is for people'",
    "grep -rn 'flow trust' docs",
    "echo 'flow approve x'",
    "env FOO=1 flow resume x",
    "tmux ls; flow sessions",
    "cat flowrail/hooks/ui-notes.md",
]


@pytest.mark.parametrize("line", PEOPLES)
def test_an_agent_may_not_decide_for_a_person_in_any_known_way(line: str) -> None:
    assert before(line)


@pytest.mark.parametrize("line", AGENTS)
def test_commands_of_agents_and_texts_about_commands_are_not_denied(line: str) -> None:
    assert before(line) == ""


@pytest.mark.parametrize(
    ("tool", "name"), [("Read", "ui-0123456789abcdef.html"), ("Read", "key"), ("Write", "trust/a.json")]
)
def test_what_proves_a_person_is_neither_read_nor_written_by_an_agent(tool: str, name: str) -> None:
    path = Path.home() / ".local/state/flowrail" / name

    said = claude_code("pre-tool-use", tool_name=tool, tool_input={"file_path": str(path)})

    assert denied(hook("pre-tool-use", said))


@pytest.mark.parametrize(
    "line",
    [
        "tools/book -- 'big elm'",
        "cd . && ./tools/book -- 'big elm'",
        "env X=1 tools/book -- 'big elm' | tee log",
        "PROJECT/tools/book -- 'big elm'",
    ],
)
def test_a_declared_command_that_is_typed_by_hand_is_denied_and_flow_run_is_named(
    line: str, session: str
) -> None:
    line = line.replace("PROJECT", str(Path.cwd()))

    assert f"`flow run book --session {session}`" in before(line)
    assert before(line, B) == "", "another conversation's step"
    assert before("tools/book -- oak") == "", "another command"
    within(A, "step", "stock", "ok")
    assert before(line) == "", "another step"


def test_an_edit_that_makes_a_passed_command_stale_is_said_once(session: str) -> None:
    allow("stock")
    assert within(A, "run", "tests", "--session", session)["verdict"] == "pass"
    edit = {"file_path": str(Path("src/a.txt").absolute())}

    unchanged = after("Edit", edit, {})
    Path("src/a.txt").write_text("2\n")
    changed, again = after("Edit", edit, {}), after("Edit", edit, {})
    elsewhere = after("Edit", {"file_path": "/tmp/other.txt"}, {})

    assert (unchanged, again, elsewhere) == ("", "", "")
    assert changed.startswith("`tests` is stale: src/a.txt changed.")
    assert f"flow run tests --session {session}" in changed


def test_after_a_compaction_the_agent_reads_which_commands_it_ran_in_this_step(session: str) -> None:
    ended = {"stdout": "", "stderr": "", "interrupted": False}
    after("Bash", {"command": "tools/freeze elm"}, ended)
    after("Bash", {"command": f"flow resume {session}"}, ended)
    after("Bash", {"command": "curl -H 'Authorization: Bearer abcdef123456' host"}, ended)
    failed: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "tools/count"}, "error": "no"}
    hook("post-tool-use-failure", claude_code("post-tool-use-failure", **failed))

    after_compaction = context(hook("session-start", claude_code("session-start", source="compact")))
    with conversation(A):
        resumed = flow("resume", session).out

    for text in (after_compaction, resumed):
        assert "In this step you already ran: `tools/freeze elm` (exit 0, just now), " in text
        assert "`tools/count` (failed, just now)" in text
        assert "abcdef123456" not in text
        assert f"`flow resume {session}` (exit" not in text
    assert "abcdef123456" not in (sessions_folder() / session / "shell.jsonl").read_text()
    within(A, "step", "stock", "ok")
    text = context(hook("session-start", claude_code("session-start", source="compact")))
    assert "already ran" not in text
