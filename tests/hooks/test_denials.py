"""Hooks deny what flow runs itself and what only a person decides, and note what happens inside a step."""

from __future__ import annotations

import os
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


DECIDES = {
    "typed": [
        "flow approve --session x plan",
        "flow waive x-aaaaaa tests",
        "flow trust py",
        "flow trust --session=x-aaaaaa",
        "flow --json approve x",
        "cd /tmp && /usr/bin/flow approve x",
        "true # a comment\nflow approve x",
        "if true; then flow approve x; fi",
        "flow ap\\\nprove x",
        "flow 'app'\"rove\" x",
    ],
    "by a launcher": [
        "sudo flowrail waive x",
        "python3 -m flowrail approve x",
        "python -P -m flowrail approve x",
        "uvx flowrail approve x",
        "uvx --from flowrail flow approve x",
        "uv tool run flowrail approve x",
        "pipx run flowrail approve x",
        "$(which flow) approve x",
        '"$(command -v flow)" approve x',
        "`which flow` approve x",
        "F=$(which flow); $F approve x",
    ],
    "in a substitution": [
        'echo "$(flow approve x)"',
        "echo `flow approve x`",
        "cat <<E\n$(flow approve x)\nE",
        "git commit -m \"$(cat <<'E'\ntext\nE\nflow approve x)\"",
    ],
    "by a shell": [
        "bash -c 'flow approve x'",
        "bash -lc 'cd y && flow approve x'",
        "eval flow approve x",
        "bash <<E\nflow approve x\nE",
        "bash <<< 'flow approve x'",
        "echo 'flow approve x' | sh",
        "cat <<E | sh\nflow approve x\nE",
        "sh <(echo flow approve x)",
        'sh -c "$(echo flow approve x)"',
        "cat <<E\nDon't\nE\nflow trust py",
        "c='flow approve x'; $c",
    ],
    "at another terminal": [
        "script -qc 'flow approve x' /dev/null",
        "script -q /dev/null flow approve x",
        "script -qec 'flow \\\napprove x' /dev/null",
        "(printf 'flow approve x\\nyes\\n'; sleep 1) | script -q /dev/null",
        "(printf 'y\\n') | script -q /dev/null flow approve x",
        "setsid flow trust py",
        "tmux new-session -d 'flow approve x'",
        "tmux send-keys 'flow trust py' Enter",
        "expect -c 'spawn flow approve x; interact'",
        "expect <<'E'\nspawn flow approve x\nsend yes\nE",
        "socat - EXEC:'flow approve x',pty",
        "systemd-run --user --pty flow approve x",
        "ssh -tt localhost flow approve x",
        "python3 -c \"import pty; pty.spawn(['flow', 'approve', 'x'])\"",
        "python3 - <<'E'\nimport pty\npty.spawn(['flow', 'approve', 'x'])\nE",
        "echo x | xargs flow trust",
        "echo flow approve x | at now",
    ],
    # An answer may be relayed, but not from a shell that hides whose it is, or at another terminal.
    "as another conversation": [
        "env -u CLAUDE_CODE_SESSION_ID flow approve x",
        "env -u CLAUDE_CODE_SESSION_ID flow answer x ship=Yes",
        "env -i flow answer x ship=Yes",
        "env -u CLAUDECODE bash -c 'flow answer x ship=Yes'",
        "env -u CLAUDECODE flow answer x ship=Yes",
        "unset CLAUDE_CODE_SESSION_ID; flow answer x ship=Yes",
        "export -n CLAUDE_CODE_SESSION_ID; flow answer x ship=Yes",
        "CLAUDE_CODE_SESSION_ID= flow answer x ship=Yes",
        "FLOW_HOST_SESSION=mine flow answer x ship=Yes",
        "script -qec 'flow answer x ship=Yes' /dev/null",
        "script -qec 'flow ui --no-open' /dev/null",
        "env -u CLAUDE_CODE_SESSION_ID flow ui",
        "flow hook post-tool-use < answers.json",
        "cat answers.json | script -qec 'flow hook post-tool-use' /dev/null",
    ],
    "with private files": [
        "cat ~/.local/state/flowrail/ui-0123456789abcdef.html",
        "cat $HOME/.local/state/flowrail/key",
        "cat ~/.local/state/flow*/key",
        "cp -r ~/.local/state/flowrail /tmp/copy",
        "cp -r ~/.local/state /tmp/copy",
        "grep -r token ~/.local/state/flowrail",
        "grep -r token ~/.local",
        "tar czf /tmp/s.tgz -C ~/.local/state flowrail",
        "tar czf /tmp/s.tgz ~/.local/state",
        "find ~/.local/state/flowrail -type f -exec cat {} +",
        "find ~/.local -name key -exec cat {} +",
        "cd ~/.local/state && cat flowrail/key",
        "cd ~/.local/state; tar cf /tmp/s.tar *",
        "echo $(<~/.local/state/flowrail/key)",
        'echo "$(cat ~/.local/state/flowrail/key)"',
        "python3 -c \"print(open('HOME/.local/state/flowrail/key').read())\"",
        "cp x ~/.local/state/flowrail/trust/y.json; echo {} > $HOME/.local/state/flowrail/key",
    ],
    "with a journal": [
        "echo {} >> .flow/sessions/x-aaaaaa/journal.jsonl",
        "cat > .flow/sessions/x-aaaaaa/journal.jsonl <<E\n{}\nE",
        "sed -i '$d' .flow/sessions/x-aaaaaa/journal.jsonl",
        "sed -i '$d' .flow/sessions/*/j*",
        "truncate -s -300 .flow/sessions/x-aaaaaa/journal.jsonl",
        "rm .flow/sessions/x-aaaaaa/journal.jsonl",
        "rm -rf .flow/sessions/x-aaaaaa",
        "rm -rf .flow",
        "find .flow -name '*.jsonl' -delete",
        "find .flow/sessions -name '*.jsonl' -exec truncate -s 0 {} +",
        "mv /tmp/j .flow/sessions/x-aaaaaa/journal.jsonl",
        "dd if=/dev/null of=.flow/sessions/x-aaaaaa/journal.jsonl",
        "cd .flow/sessions/x-aaaaaa && head -n -1 journal.jsonl > j && mv j journal.jsonl",
        "python3 -c \"open('.flow/sessions/x-aaaaaa/journal.jsonl', 'w')\"",
        "cp /tmp/j .flow/handoffs/handoff-aaaaaa/journal.jsonl",
        "cat /srv/store/sessions/x-aaaaaa/journal.jsonl",
    ],
}
"""Lines with which an agent decides for a person, or removes what would show it."""
AGENTS = [
    "flow answer x-aaaaaa ship=Yes",
    "flow answer x-aaaaaa 'ship=other: \"yes\"' --note ''",
    "bash -lc 'flow answer x-aaaaaa ship=Yes'",
    "cd y && uv run flow answer x-aaaaaa ship=Yes",
    "uvx flowrail answer x-aaaaaa ship=Yes",
    "uv tool run flowrail answer x-aaaaaa ship=Yes",
    "pipx run flowrail answer x-aaaaaa ship=Yes",
    "python -P -m flowrail answer x-aaaaaa ship=Yes",
    "timeout 60 flow answer x-aaaaaa ship=Yes 2>&1 | tail -5",
    "flow step release ok --session release-aaaaaa",
    "flow step release ok --session release-aaaaaa --note 'the user must run flow approve'",
    'flow ask x-aaaaaa <<E\n{"question": "Did you run flow approve?"}\nE',
    "flow ui --no-open",
    "flow hook stop < said.json",
    "flow approve --help",
    "git commit -m 'flow approve is for people'",
    'git commit -m "$(cat <<\'E\'\ndocs: "flow approve" needs a person\n\nDon\'t; (flow trust) too\nE\n)"',
    "git -C docs commit -am 'flow approve is for people' && npm test 2>&1 | tail -3",
    "gh pr create --title 'Docs' --body 'Run flow trust first'",
    "grep -rn 'flow trust' docs",
    'grep -rn "flow approve" docs | head -3 | wc -l',
    "find docs -name '*.md' | xargs grep -ln 'flow approve'",
    "find docs -name '*.md' -exec sed -i 's/flow trust/flow approve/' {} +",
    "echo 'flow approve x'",
    'echo "run flow approve" && npm test',
    "cat > docs/a.md <<'E'\n# Approve\n\nDon't wait: run\n\n    flow approve x\n\nthen `flow trust py`\nE",
    "tee docs/a.md <<'E' >/dev/null\nflow approve x\nE\ngit add -A && git commit -qm 'flow approve'",
    "env FOO=1 flow resume x",
    "printenv CLAUDE_CODE_SESSION_ID; flow answer x ship=Yes",
    "tmux ls; flow sessions",
    "cat flowrail/hooks/ui-notes.md",
    "cat .flow/sessions/x-aaaaaa/work/notes.md",
    "rm .flow/sessions/x-aaaaaa/work/draft.md",
    "ls -la .flow ~/.local ~/.local/state",
    "find ~ -name '*.toml' -not -path '*/.flow/*'",
    "rg token ~ -g '!.flow'",
    "export PATH=~/.local/bin:$PATH; cat ~/.local/share/x/journal.txt",
    "echo .flow/ >> .gitignore",
    "git commit -m 'keep ~/.local/state/flowrail private'",
]


@pytest.mark.parametrize("way", DECIDES)
def test_an_agent_may_not_decide_for_a_person_in_any_known_way(way: str) -> None:
    lines = [line.replace("HOME", os.environ["HOME"]) if "'HOME" in line else line for line in DECIDES[way]]

    assert [line for line in lines if not before(line)] == []


def test_commands_of_agents_and_texts_about_commands_are_not_denied() -> None:
    assert [line for line in AGENTS if before(line)] == []


STATE, JOURNAL = "~/.local/state/flowrail", ".flow/sessions/x-aaaaaa/journal.jsonl"


@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        ("Read", {"file_path": f"{STATE}/ui-0123456789abcdef.html"}),
        ("Read", {"file_path": f"{STATE}/key"}),
        ("Grep", {"pattern": "token", "path": STATE}),
        ("Grep", {"pattern": "token", "path": "~/.local/state"}),
        ("Write", {"file_path": f"{STATE}/trust/a.json", "content": "{}"}),
        ("mcp__files__read_file", {"path": f"{STATE}/key"}),
        ("Write", {"file_path": JOURNAL, "content": ""}),
        ("Edit", {"file_path": JOURNAL, "old_string": "Yes", "new_string": "No"}),
        ("mcp__files__write_file", {"path": JOURNAL, "content": ""}),
    ],
)
def test_what_proves_a_person_is_neither_read_nor_written_by_an_agent(
    tool: str, tool_input: dict[str, str]
) -> None:
    tool_input = {name: value.replace("~", os.environ["HOME"], 1) for name, value in tool_input.items()}

    said = claude_code("pre-tool-use", tool_name=tool, tool_input=tool_input)

    assert denied(hook("pre-tool-use", said))


@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        ("shell", {"command": ["bash", "-lc", "flow approve x"]}),
        ("shell", {"command": ["flow", "approve", "x"]}),
        ("exec_command", {"cmd": "flow approve x"}),
    ],
)
def test_every_form_of_a_shell_tool_is_read(tool: str, tool_input: dict[str, Any]) -> None:
    said = claude_code("pre-tool-use", tool_name=tool, tool_input=tool_input)

    assert "is a person's decision" in denied(hook("pre-tool-use", said))


@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        ("Read", {"file_path": JOURNAL}),
        ("Write", {"file_path": "docs/a.md", "content": f"flow approve x\n{STATE}/key\n{JOURNAL}\n"}),
        ("Write", {"file_path": ".flow/sessions/x-aaaaaa/work/journal.md", "content": JOURNAL}),
        ("Grep", {"pattern": f"{STATE}/key|{JOURNAL}", "path": "docs"}),
        ("Task", {"prompt": f"Explain {STATE}/key and {JOURNAL}, and flow approve"}),
    ],
)
def test_a_text_about_private_files_is_not_denied(tool: str, tool_input: dict[str, str]) -> None:
    said = claude_code("pre-tool-use", tool_name=tool, tool_input=tool_input)

    assert denied(hook("pre-tool-use", said)) == ""


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
