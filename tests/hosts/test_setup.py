"""Hooks put into settings and taken out again: everything else stays, byte for byte."""

from __future__ import annotations

import json
import os
import re
import subprocess
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hooks import A, claude_code, within
from support.sandbox import flow, process, put_skill, told

from flowrail.errors import DocumentError
from flowrail.formatters.reports.hooks import difference
from flowrail.hosts.jsonc import parse
from flowrail.hosts.protocol import EVENTS
from flowrail.hosts.settings import PERMISSIONS, command_of, hooks, with_hooks, without_hooks
from flowrail.hosts.setup import Done, Place
from flowrail.operations.doctor.hooks import hooks_section
from flowrail.operations.doctor.section import World
from flowrail.text.safe_text import visible

PROJECT = Path(".claude/settings.json")
SETTINGS = {
    "none": None,
    "empty": "",
    "blank": "\n\n",
    "an empty object": "{}",
    "an empty object with a line": "{\n}\n",
    "an object with a remark": "{ // mine\n}\n",
    "one key": '{"model": "opus"}',
    "no line at its end": '{\n  "model": "opus"\n}',
    "tabs": '{\n\t"model": "opus",\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n',
    "four spaces": '{\n    "b": 1,\n    "a": 2\n}\n',
    "CRLF": '{\r\n  "b": 1,\r\n  "a": 2\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "b": 1\n}\n',
    "comments": '// mine\n{\n  /* first */ "b": 1, // one, "quoted" {\n  // "hooks": {}\n  "a": [1, 2] // two\n} // end\n',
    "commas at the end": '{\n  "b": [1, 2,],\n  "a": {"x": 1,},\n}\n',
    "empty hooks": '{"hooks": {}}',
    "hooks of others": """\
{
  "hooks": {
    // ours first
    "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say 'done, }]'"}]}],
    "PostToolUse": [
      {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "fmt"}]},  // format
    ]
  },
  "permissions": {"allow": ["Bash(ls *)"], "deny": []}
}
""",
    "an empty list": '{"hooks": {"Stop": [], "PreToolUse": [ ]}, "permissions": {"allow": []}}',
    "odd text": '{"é": "\\u00e9\\"\\\\ // no comment", "hooks": {"Stop": [\n]}}',
    "a key twice": '{"hooks": 1, "hooks": {}}',
}
REMARK = re.compile(r"//[^\"\n]*|/\*.*?\*/")


def put(text: str | None) -> bytes | None:
    if text is None:
        return None
    PROJECT.parent.mkdir(exist_ok=True)
    PROJECT.write_bytes(text.encode())
    return PROJECT.read_bytes()


def now() -> bytes | None:
    return PROJECT.read_bytes() if PROJECT.exists() else None


def plain(text: str | bytes | None) -> Any:
    text = text.decode() if isinstance(text, bytes) else text
    return parse(text, source="x").value if text and text.strip("\ufeff \n") else {}


@pytest.mark.parametrize("permissions", [False, True])
@pytest.mark.parametrize("what", SETTINGS)
def test_installing_and_taking_away_leaves_the_very_bytes(what: str, permissions: bool) -> None:
    before = put(SETTINGS[what])
    words = ["hook", "install", *(["--permissions"] if permissions else [])]

    assert told(*words)["changed"] is True
    installed = now()
    assert told(*words)["changed"] is False
    assert now() == installed
    assert told("hook", "uninstall")["changed"] is True
    assert now() == before
    told(*words)
    assert now() == installed
    told("hook", "uninstall")
    assert now() == before


@pytest.mark.parametrize("what", SETTINGS)
def test_what_was_there_stays_and_ours_stands_beside_it(what: str) -> None:
    text = SETTINGS[what]
    after = with_hooks(text, permissions=True, source="x").text
    was, is_now = plain(text), plain(after)

    for key in was.keys() - {"hooks", "permissions"}:
        assert is_now[key] == was[key]
    for name, groups in hooks().items():
        assert is_now["hooks"][name][-1:] == groups
    for name, groups in (was.get("hooks") or {}).items():
        assert is_now["hooks"][name][: len(groups)] == groups
    assert set(PERMISSIONS) <= set(is_now["permissions"]["allow"])
    assert REMARK.findall(after)[: len(REMARK.findall(text or ""))] == REMARK.findall(text or "")
    assert after.count("\r\n") in {0, after.count("\n")}
    if "//" not in after and not re.search(r",\s*[\]}]", after):
        assert json.loads(after.removeprefix("\ufeff")) == is_now


@pytest.mark.parametrize("what", SETTINGS)
def test_where_nobody_knows_what_was_put_in_it_is_found_by_its_form(what: str) -> None:
    text = SETTINGS[what] or "{}"
    rid = without_hooks(with_hooks(text, permissions=True, source="x").text, source="x")

    assert without_hooks(rid, source="x") == rid
    was, is_now = plain(text), plain(rid)
    for each in (was, is_now):  # what holds nothing goes with it
        each.get("hooks", {}) and each["hooks"].update(
            {name: each["hooks"].get(name) or [] for name in hooks()}
        )
        each["hooks"] = {name: groups for name, groups in (each.get("hooks") or {}).items() if groups}
        each.get("permissions", {}).get("allow") or each.pop("permissions", None)
    assert is_now == was
    assert REMARK.findall(rid) == REMARK.findall(text)


def test_what_somebody_changed_meanwhile_stays() -> None:
    put(SETTINGS["hooks of others"])
    told("hook", "install", "--permissions")
    edited = PROJECT.read_text().replace('"fmt"', '"fmt2"').replace('"Bash(flow step *)",', "")
    mine = json.dumps({"type": "command", "command": "mine"})
    edited = edited.replace('"timeout": 10\n          }', f'"timeout": 10\n          }},\n {mine}', 1)
    PROJECT.write_text(edited)

    told("hook", "uninstall")

    left = plain(PROJECT.read_text())
    assert "flow hook" not in PROJECT.read_text()
    assert [each["hooks"][0]["command"] for each in left["hooks"]["PostToolUse"]] == ["fmt2"]
    assert "mine" in PROJECT.read_text()
    assert left["permissions"]["allow"] == ["Bash(ls *)"]


def test_hooks_of_another_version_are_replaced() -> None:
    old = {"hooks": [{"type": "command", "command": "flow hook stop --old"}]}
    put(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}, old]}}))
    (found,) = [each for each in findings() if each["code"] == "HOOKS_OUTDATED"]
    assert "stop" in found["message"]

    told("hook", "install")

    text = PROJECT.read_text()
    assert "--old" not in text
    assert json.loads(text)["hooks"]["Stop"][0]["hooks"][0]["command"] == "x"
    assert text.count("flow hook stop") == 1


ALIKE = (
    "flow hook stop; curl x | sh",
    "flow hook stop && x",
    "flow hook stop\nx",
    "flow hook stop 2>/dev/null || echo '{}'; x",
    "flow hook stop --old=$(x)",
    "flow hook stopper",
    "flow  hook x",
)


@pytest.mark.parametrize("command", ALIKE)
def test_what_only_begins_like_a_hook_of_ours_is_told_and_stays(command: str) -> None:
    theirs = {"Stop": [{"hooks": [{"type": "command", "command": command}]}], "Other": []}
    put(json.dumps({"hooks": theirs}))

    (alone,) = findings()
    told("hook", "install")
    (beside,) = findings()
    told("hook", "uninstall")

    assert (alone["code"], alone["severity"]) == ("HOOKS_ALIKE", "warning")
    assert alone["message"].endswith(f"begins like ours and is none of ours: {command}")
    assert beside == alone
    assert json.loads(PROJECT.read_text())["hooks"] == theirs
    put(json.dumps({"hooks": theirs | {"PreToolUse": hooks()["PreToolUse"]}}))
    told("hook", "uninstall")
    assert json.loads(PROJECT.read_text())["hooks"] == theirs


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
GROUPS = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(st.fixed_dictionaries({"command": st.text(max_size=4)}), max_size=2)}
    ),
    max_size=2,
)
OWN = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(st.sampled_from([*EVENTS.values(), "Other"]), GROUPS, max_size=4),
        "permissions": st.fixed_dictionaries(
            {}, optional={"allow": st.lists(st.text(max_size=4), max_size=2)}
        ),
        "x": DOCUMENTS,
        "y": DOCUMENTS,
    },
)


@given(OWN, st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans())
def test_whatever_the_settings_are_putting_in_can_be_undone(
    value: Any, indent: Any, permissions: bool
) -> None:
    text = json.dumps(value, indent=indent)
    edited = with_hooks(text, permissions=permissions, source="x")
    again = with_hooks(edited.text, permissions=permissions, source="x")

    assert again.text == edited.text
    found = json.loads(edited.text)
    for name, groups in hooks().items():
        assert found["hooks"][name] == [*value.get("hooks", {}).get(name, []), *groups]
    for name in {"x", "y"} & value.keys():
        assert found[name] == value[name]
    rid = edited.text
    for at, length in sorted(edited.spans, reverse=True):
        rid = rid[:at] + rid[at + length :]
    assert rid == text


@given(DOCUMENTS)
def test_json_is_read_as_json(value: Any) -> None:
    assert parse(json.dumps(value), source="x").value == value


@pytest.mark.parametrize(
    "text",
    ["{", "[", '{"a"', '{"a":', '{"a": 1 "b": 2}', "[1 2]", "{a: 1}", "nope", "01", '"\n"', "{} x", "[,]", "/* x", "'a'",
     "[" * 200 + "]" * 200, '{"a": -}', '{"a": "\\x"}', "{,}"],
)  # fmt: skip
def test_what_is_no_json_is_refused_and_left_alone(text: str) -> None:
    with pytest.raises(DocumentError):
        parse(text, source="x")
    before = put(text)
    for verb in ("install", "uninstall"):
        ran = flow("hook", verb, "--json")
        assert ran.status == 2
        assert now() == before
    assert [each["code"] for each in findings()] == ["SETTINGS_UNREADABLE"]


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "7",
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        '{"permissions": []}',
        '{"permissions": {"allow": 1}}',
    ],
)
def test_settings_of_another_shape_are_refused_and_left_alone(text: str) -> None:
    before = put(text)
    ran = flow("hook", "install", "--permissions", "--json")

    assert (ran.status, ran.error["code"]) == (4, "ODD_SETTINGS")
    assert now() == before
    told("hook", "uninstall")
    assert now() == before


@pytest.mark.parametrize("host", ["claude-code", "codex"])
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("\n[1, 2, 3]", 2, "the whole is no object"),
        ('{"hooks":\n7}', 2, "`hooks` is no object"),
        ('{"a": 1,\n"hooks": {\n"Stop": {}}}', 3, "`hooks.Stop` is no list"),
        ('{\n"a": "b\n"}', 2, "is no JSON: a text is not closed in its line, or holds a control character"),
        ('{\n"a" 1}', 2, "is no JSON: a colon is missing"),
        ('{\n"a": "`b`\\q"}', 2, 'is no JSON: `"⟨U+0060⟩b⟨U+0060⟩\\q"` is no value'),
        (b'{"a": 1,\n"b": "\xff"}', 2, "is no UTF-8: byte 0xFF"),
    ],
)
def test_settings_that_cannot_be_used_are_named_with_the_line_by_the_doctor_too(
    host: str, text: str | bytes, line: int, what: str
) -> None:
    path = Path(".codex/hooks.json") if host == "codex" else Path(PROJECT)
    path.parent.mkdir()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    place = f"{path.absolute()}:{line}"

    error = flow("hook", "install", "--host", host, "--json").error
    (found,) = [each for each in flow("doctor", "--json").data["findings"] if each["section"] == "hooks"]

    assert (error["message"], error["details"]["place"]) == (f"{place}: {what}", place)
    assert (found["code"], found["severity"], found["place"]) == ("SETTINGS_UNREADABLE", "warning", place)
    assert found["message"] == f"the settings of {host} cannot be read: {what}"
    assert found["remedy"] == "mend it first"
    assert f"({place})" in flow("doctor").out


def test_settings_of_more_values_than_anybody_has_are_refused_at_once_and_a_long_text_is_not() -> None:
    before = put('{"a": [\n' + "[]," * 30_000 + "[]]}")
    error = flow("hook", "install", "--json").error

    assert error["message"].endswith("settings.json:2: holds more than 20000 values")
    assert now() == before
    put('{"a": "' + "x" * 500_000 + '"}')
    assert told("hook", "install", "--dry-run")["changed"] is True


def findings() -> list[dict[str, Any]]:
    """Return what an examination finds of hooks."""
    state = Path(os.environ["HOME"]) / "state"
    world = World(os.getcwd(), os.environ["HOME"], os.environ, str(state), ".flow")
    return [each._asdict() for each in hooks_section(world).findings]


def test_nothing_is_written_on_trial_and_what_would_be_is_shown() -> None:
    before = put(SETTINGS["tabs"])
    shown = flow("hook", "install", "--dry-run").out

    assert "+" in shown
    assert "flow hook stop" in shown
    assert "nothing was written" in shown
    assert now() == before
    told("hook", "install")
    installed = now()
    assert "-" in flow("hook", "uninstall", "--dry-run").out
    assert now() == installed


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("permissions", [True, False])
def test_what_changes_is_shown_as_a_difference_of_the_whole(name: str, permissions: bool) -> None:
    text = SETTINGS[name]
    after = with_hooks(text, permissions=permissions, source="x").text
    place = Place("claude-code", "project", "p")

    for before, then in ((text, after), (after, text), (None, after), (after, None), (text, text)):
        one, other = ((each or "").splitlines() for each in (before, then))
        whole = visible("\n".join(unified_diff(one, other, "p", "p", lineterm="", n=1)))
        assert difference(Done(place, before, then)) == whole


def test_a_difference_is_looked_for_where_there_is_one() -> None:
    put('{"a": 1,' + "\n" * 400_000 + '"b": 2}')
    shown = flow("hook", "install", "--dry-run").out.splitlines()
    assert shown[2:6] == ["@@ -400000,2 +400000,48 @@", " ", '-"b": 2}', '+"b": 2,']
    assert len(shown) < 70

    put('{"hooks": {"Stop": []},' + "\n" * 4_000 + '"b": 2}')
    assert ", too many to show\n" in flow("hook", "install", "--dry-run", "--permissions").out

    put("{" + " " * 400_000 + "}")
    assert len(flow("hook", "install", "--dry-run").out) < 20_000


def test_a_users_own_settings_may_be_a_link_and_the_projects_may_not(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    real.chmod(0o640)
    home = Path(os.environ["HOME"]) / ".claude"
    home.mkdir()
    (home / "settings.json").symlink_to(real)

    told("hook", "install", "--to", "home")
    assert (home / "settings.json").is_symlink()
    assert "flow hook stop" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    told("hook", "uninstall", "--to", "home")
    assert real.read_text() == "{}\n"
    PROJECT.parent.mkdir()
    PROJECT.symlink_to(real)
    ran = flow("hook", "install", "--json")
    assert (ran.status, ran.error["code"]) == (4, "SETTINGS_LINKED")
    assert real.read_text() == "{}\n"


def test_settings_that_are_no_text_or_hold_none_of_ours_are_left_alone() -> None:
    assert "there are none" in flow("hook", "uninstall").out
    before = put('{"model": "opus"}')
    assert "there are none" in flow("hook", "uninstall").out
    assert now() == before
    PROJECT.write_bytes(b"\xff\xfe{}")
    assert flow("hook", "install", "--json").status == 2
    assert PROJECT.read_bytes() == b"\xff\xfe{}"


def test_a_folder_that_was_made_for_hooks_goes_with_them_and_any_other_stays() -> None:
    for words in ([], ["--permissions"]):
        told("hook", "install", *words)
    told("hook", "uninstall")
    assert not PROJECT.parent.exists()
    told("hook", "install")
    (PROJECT.parent / "mine").write_text("x")
    told("hook", "uninstall")
    assert [each.name for each in PROJECT.parent.iterdir()] == ["mine"]


def test_codex_has_a_file_of_its_own() -> None:
    out = flow("hook", "install", "--host", "codex").out
    assert "/hooks" in out
    assert json.loads(Path(".codex/hooks.json").read_text()) == {"hooks": hooks()}
    told("hook", "install", "--host", "codex", "--to", "home", "--permissions")
    assert "permissions" not in (Path(os.environ["HOME"]) / ".codex/hooks.json").read_text()
    assert [each["code"] for each in findings()] == ["HOOKS_TWICE"]
    told("hook", "uninstall", "--host", "codex")
    assert not Path(".codex/hooks.json").exists()
    assert findings() == []


def test_other_hosts_are_told_what_can_be_done() -> None:
    out = flow("hook", "install", "--host", "other").out

    assert "AGENTS.md" in out
    assert "flow resume ID" in out
    assert told("hook", "install", "--host", "other")["hooks"] == []
    back = told("hook", "uninstall", "--host", "other")
    assert back["hooks"] == []
    assert flow("hook", "uninstall", "--host", "other").out == f"{back['instructions']}\n"
    assert ".codex" not in back["instructions"]


def test_the_doctor_knows_what_is_missing() -> None:
    assert findings() == []
    assert "flow hook install" in flow("doctor").out
    told("hook", "install")
    assert findings() == []
    assert str(PROJECT) in flow("doctor").out
    text = PROJECT.read_text()
    PROJECT.write_text(text.replace('"SubagentStop"', '"Other"'))
    (found,) = [each for each in flow("doctor", "--json").data["findings"] if each["section"] == "hooks"]
    assert (found["code"], found["severity"]) == ("HOOKS_MISSING", "warning")
    assert "subagent-stop" in found["message"]


def test_hooks_that_are_switched_off_are_told() -> None:
    put('{"disableAllHooks": true}')
    assert findings() == []
    told("hook", "install")
    assert [each["code"] for each in findings()] == ["HOOKS_OFF"]


def test_what_a_host_runs_answers_even_where_there_is_no_flow(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for event in EVENTS:
        done = subprocess.run(
            ["/bin/sh", "-c", command_of(event)], env={"PATH": str(tmp_path / "bin")}, input="{}",
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")


def test_what_is_installed_is_what_answers() -> None:
    put_skill("small")
    session = within(A, "start", "small")["session"]
    told("hook", "install")
    settings = json.loads(PROJECT.read_text())
    (hook,) = settings["hooks"]["Stop"][0]["hooks"]
    words = hook["command"].partition(" 2>")[0].split()

    assert words[0] == "flow"
    assert session in process(*words[1:], stdin=json.dumps(claude_code("stop"))).out


def test_no_permission_lets_an_agent_decide_for_a_person() -> None:
    words = {rule.split()[1] for rule in PERMISSIONS}

    assert not words & {
        "trust",
        "untrust",
        "adopt",
        "hook",
        "install",
        "uninstall",
        "migrate",
        "prune",
        "rewind",
        "mcp",
    }
    assert all(flow(word, "--help").status == 0 for word in words)


@pytest.mark.parametrize("words", [("install", "--to", "home"), ("plugin", "/proc/nowhere/plugin")])
def test_a_place_that_cannot_be_made_is_refused_with_a_hint(words: tuple[str, ...]) -> None:
    (Path.home() / ".claude").symlink_to("/proc/nowhere")

    ran = flow("hook", *words)

    assert ran.status == 3
    assert "could not be made" in ran.err
    assert "[WRITE_FAILED]\n  " in ran.err


def test_settings_that_are_a_link_to_a_device_are_named_with_what_it_leads_to() -> None:
    Path(".codex").mkdir()
    Path(".codex/hooks.json").symlink_to("/dev/zero")

    told_of = [
        each for each in flow("doctor", "--json").data["findings"] if each["code"] == "SETTINGS_UNREADABLE"
    ]

    assert [each["place"] for each in told_of] == [str(Path.cwd() / ".codex" / "hooks.json")]
    assert told_of[0]["message"].endswith("is a device (/dev/zero)")
