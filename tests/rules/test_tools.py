"""Rules that forbid tools: the uses that they match, the uses that they do not match, and their cost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowrail.rules.tools import LONGEST, ToolUse, covers, forbidding, problem


def use(tool: str, **arguments: object) -> ToolUse:
    return ToolUse(tool, arguments, "/srv/project/src", "/srv/project", "/home/me")


def bash(command: str) -> ToolUse:
    return use("Bash", command=command)


def own_work(used: ToolUse) -> ToolUse:
    work = "/srv/project/.flow/sessions/a-123456/work"
    return ToolUse(used.tool, used.input, used.cwd, used.project, used.home, work)


SEEN_THROUGH = [
    "git -C . push",
    "git -c x=y --no-pager push origin",
    "git -C $(git rev-parse --show-toplevel) push",
    "/usr/bin/git push",
    "\"git\" 'push'",
    "timeout -k 5 10m git push",
    "nohup nice -n 5 git push &",
    "env -u A B=1 git push",
    "sudo -u me git push",
    "echo origin | xargs -n1 git push",
    "git push > log 2>&1",
    "2>/dev/null git push",
    "bash -c 'cd src && git push'",
    "bash -euo pipefail -c 'git push'",
    "timeout 5 sh -c \"sh -c 'git push'\"",
    "eval 'git push'",
    "bash <<E\ngit push\nE",
    "git \\\n  push",
    "# don't\ngit push\n# can't",
]
"""Lines of shell that push in another spelling."""
MET = [
    ("Edit", use("Edit", file_path="/srv/project/a.py")),
    ("Edit", use("Write", file_path="a.py")),
    ("Edit", use("NotebookEdit", notebook_path="a.ipynb")),
    ("Read", use("Grep", pattern="x")),
    ("Task", use("Agent", prompt="x")),
    ("Bash", bash("ls")),
    ("Bash", use("shell", command=["bash", "-lc", "ls"])),
    ("Bash(git push*)", use("shell", command=["bash", "-lc", "git push"])),
    ("Bash(git push*)", use("exec_command", cmd="git push")),
    ("Bash(git push*)", bash("cd src && git push")),
    ("Bash(git push*)", bash("true; git   push")),
    ("Bash(git push*)", bash("FORCE=1 X='a b' git push")),
    ("Bash(git push*)", bash('echo "$(git push)"')),
    ("Bash(git push*)", bash("echo `git push`")),
    ("Bash(git push*)", bash("(git push)")),
    ("Bash(git push*)", bash("if git diff --quiet; then git push; fi")),
    ("Bash(git push*)", bash("for to in a b; do\n  git push $to\ndone")),
    ("Bash(git push*)", bash("while ! git push; do sleep 1; done")),
    *(("Bash(git push*)", bash(line)) for line in SEEN_THROUGH),
    ("Bash(sudo *)", bash("sudo -u me git push")),
    ("Bash(tools/publish*)", bash("sh /srv/project/tools/publish 1.2")),
    ("Bash(echo * > *)", bash("echo x > y")),
    ('Bash(git commit -m "wip*)', bash('git commit -m "wip: x"')),
    ("Bash(npm run test:*)", bash("npm run test --watch")),
    ("Bash(ls *)", bash("ls")),
    ("Bash(ls *)", bash("ls -l")),
    ("Bash(git * --force *)", bash("git push --force")),
    ("Bash(* --force)", bash("git push --force")),
    ("Edit(src/**)", use("Edit", file_path="/srv/project/src/a/b.py")),
    ("Edit(/src/**)", use("Edit", file_path="a.py")),
    ("Edit(**)", use("Edit", file_path="/srv/project/a.py")),
    ("Edit(src)", use("Edit", file_path="/srv/project/src/a.py")),
    ("Edit(docs/*.md)", use("Write", file_path="../docs/a.md")),
    ("Edit(~/notes/**)", use("Write", file_path="/home/me/notes/a")),
    ("Edit(//etc/**)", use("Write", file_path="/etc/passwd")),
    ("Write(migrations/**)", bash("echo x > ../migrations/1.sql")),
    ("Write(migrations/**)", bash("cat a >>../migrations/1.sql")),
    ("Edit(migrations/**)", bash("cat a | tee -a '../migrations/1.sql'")),
    ("Write(migrations/**)", bash("cat > ../migrations/1.sql <<EOF\n-- it's new\nEOF")),
    ("WebFetch(domain:example.com)", use("WebFetch", url="https://example.com/x")),
    ("WebFetch(domain:*.example.com)", use("WebFetch", url="https://me@a.EXAMPLE.com:80/x")),
    ("Skill(deploy)", use("Skill", skill="deploy")),
    ("mcp__github", use("mcp__github__create_issue")),
    ("mcp__github__*", use("mcp__github__create_issue")),
]
NOT_MET = [
    ("Edit", use("Read", file_path="a.py")),
    ("Read", use("Edit", file_path="a.py")),
    ("Write", use("Edit", file_path="a.py")),
    ("Bash(git push*)", bash("echo 'git push'")),
    ("Bash(git push*)", bash("echo 'a; git push'")),
    ("Bash(git push*)", bash('echo "a && git push"')),
    ("Bash(git push*)", bash("git commit -m 'git push' # git push")),
    ("Bash(git push*)", bash("git -C push status")),
    ("Bash(git push*)", bash("cat > a.md <<E\ngit push\nE")),
    ("Bash(git push*)", bash("command -v git push")),
    ("Bash(git push*)", bash("bash -c 'echo git push'")),
    ("Bash(git push*)", use("Bash")),
    ("Bash(git push*)", use("Bash", command=7)),
    ("Bash(ls *)", bash("lsof")),
    ("Edit(src/**)", use("Edit", file_path="/srv/project/docs/a.md")),
    ("Edit(src/**)", use("Edit", file_path="/srv/other/src/a.md")),
    ("Edit(src/**)", use("Edit")),
    ("Edit(**)", use("Edit", file_path="/srv/other/src/a.md")),
    ("Write(migrations/**)", bash("echo '> migrations/1.sql'")),
    ("Edit", own_work(use("Write", file_path="/srv/project/.flow/sessions/a-123456/work/notes.md"))),
    ("Edit(.flow/**)", own_work(bash("echo x >> /srv/project/.flow/sessions/a-123456/work/notes.md"))),
    ("Edit(/a.py)", use("Write", file_path="/srv/project/deep/b.py")),
    ("WebFetch(domain:example.com)", use("WebFetch", url="https://example.com.evil.org/")),
    ("WebFetch(domain:example.com)", use("WebFetch", url="mailto:example.com")),
    ("mcp__git", use("mcp__github__create_issue")),
    ("mcp__github__read_*", use("mcp__github__create_issue")),
    ("no rule", use("no rule")),
    ("Bash" + "x" * LONGEST, use("Bash" + "x" * LONGEST)),
]


NOT_SEEN = [
    "cd migrations && echo x > 1.sql",
    "sed -i s/a/b/ migrations/1.sql",
    "cp a migrations",
    "F=migrations/1.sql; echo x > $F",
]
"""Commands that change a file without being denied, as the guide to Claude Code says."""


@pytest.mark.parametrize("command", NOT_SEEN)
def test_an_edit_that_a_redirection_does_not_name_is_not_seen(command: str) -> None:
    assert forbidding(["Edit(migrations/**)"], bash(command)) is None


@pytest.mark.parametrize(("rule", "used"), MET)
def test_a_use_that_meets_a_rule(rule: str, used: ToolUse) -> None:
    assert problem(rule) is None
    assert forbidding(["Nothing", rule], used) == rule


@pytest.mark.parametrize(("rule", "used"), NOT_MET)
def test_a_use_that_does_not(rule: object, used: ToolUse) -> None:
    assert forbidding([rule], used) is None


@pytest.mark.parametrize(
    "command", ["flow resume x-abcdef", "cd src && flow step x ok", "flow sessions; flow list"]
)
def test_a_step_that_forbids_the_shell_can_still_be_reported(command: str) -> None:
    own = command.replace("cd src && ", "")

    assert forbidding(["Bash"], bash(own)) is None
    assert forbidding(["Bash(*)", "Bash(flow *)"], bash(own)) is None
    assert forbidding(["Bash"], bash(f"{own} && rm x")) == "Bash"
    assert forbidding(["Bash"], bash(f"{own} $(rm x)")) == "Bash"
    assert forbidding(["Bash"], bash("")) == "Bash"
    assert forbidding(["Bash"], bash("flowers")) == "Bash"


@pytest.mark.parametrize(
    "rule", ["", "Edit()", "Edit( )", "git push", "Bash(a", "1", "Bash(a)b", "x" * 201, None]
)
def test_what_is_no_rule_is_told(rule: object) -> None:
    assert problem(rule)


PARTS = st.sampled_from(["a", "b", "ab", "*", "a*", "**"])
FOLDERS = st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=5)


@given(st.lists(PARTS, min_size=1, max_size=5), FOLDERS)
def test_a_path_matches_as_a_regular_expression_says(pattern: list[str], path: list[str]) -> None:
    words = ["(?:[^/]+/)*" if part == "**" else part.replace("*", "[^/]*") + "/" for part in pattern]
    expected = re.compile("".join(words) + r"(?:[^/]+/)*\Z").match("/".join(path) + "/") is not None
    used = use("Edit", file_path="/srv/project/" + "/".join(path))

    assert (forbidding([f"Edit(/{'/'.join(pattern)})"], used) is not None) == expected


def test_a_hostile_command_or_rule_is_judged_at_once() -> None:
    long = "a" * 100_000

    assert forbidding(["Bash(" + "*a" * 90 + "b)"], bash(long)) is None
    assert forbidding(["Bash(git push*)"], bash("$(" * 50_000)) is None
    assert forbidding(["Bash(git push*)"], bash("A=1 " * 5_000)) is None
    for hostile in ('"' + "a" * 100_000, "'a" * 50_000, ">a" * 50_000, "eval " * 20_000, "/" * 100_000):
        assert forbidding(["Bash(git push*)", "Edit(x)"], bash(hostile)) is None
    assert (
        forbidding(["Edit(" + "**/a/" * 30 + "b)"], use("Edit", file_path="/srv/project/" + "a/" * 5_000))
        is None
    )


@given(
    st.text(),
    st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.text()), max_size=3),
)
def test_any_rule_and_use_can_be_compared(text: str, arguments: dict[str, object]) -> None:
    for tool in ("Bash", "Edit", "WebFetch", text):
        for rule in ("Bash(x*)", "Edit(x)", "WebFetch(domain:x)", f"{tool}(x)", text):
            forbidding([rule], use(tool, command=text, file_path=text.replace("\0", ""), url=text))
            forbidding([rule], ToolUse(tool, arguments, "/", "/", "/"))


@pytest.mark.parametrize(
    ("general", "special", "expected"),
    [
        ("Bash", "Bash(git push*)", True),
        ("Bash(git push*)", "Bash(git push:*)", True),
        ("Bash(git push*)", "Bash(git *)", False),
        ("Bash(*push*)", "Bash(git push*)", True),
        ("Write", "Edit", False),
        ("Edit(src/**)", "Edit(src/a.py)", False),
        ("mcp__github__create_issue", "mcp__github__*", False),
    ],
)
def test_a_pattern_covers_another(general: str, special: str, expected: bool) -> None:
    assert covers(general, special) is expected


@given(
    st.lists(st.sampled_from(["git", "push", "*", " *", ":*", " ", "x"]), min_size=1, max_size=4),
    st.lists(st.sampled_from(["git", "push", "*", " *", ":*", " ", "x"]), min_size=1, max_size=4),
    st.lists(st.sampled_from(["git", "push", " ", "x", "&&"]), min_size=1, max_size=6),
)
def test_a_pattern_that_covers_another_matches_all_its_calls(
    general: list[str], special: list[str], line: list[str]
) -> None:
    wide, narrow = (f"Bash({''.join(words)})" for words in (general, special))

    if covers(wide, narrow) and forbidding([narrow], bash("".join(line))):
        assert forbidding([wide], bash("".join(line)))
