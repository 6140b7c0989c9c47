"""An agent may always stop if something is wrong: with the host's input, with files, or with the streams."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.forked import start_recorded
from support.hooks import A, claude_code, hook, within
from support.sandbox import accept, flow, process, put_skill, sessions_folder

from flowrail.hosts.host import EVENTS
from flowrail.storage.lock import locked
from flowrail.text import size_limits

STRICT = """\
name: NAME
steps:
  - {id: first, title: First, actions: [Do.], forbids: [Edit], next: {ok: second}}
  - {id: second, title: Second, actions: [Do.], next: {ok: null}}
"""
EDIT: dict[str, Any] = {"tool_name": "Edit", "tool_input": {}}


def said(event: str) -> dict[str, Any]:
    """Return the input of a hook from Claude Code."""
    return claude_code(event, **(EDIT if event == "pre-tool-use" else {}))


@pytest.fixture
def session() -> Path:
    put_skill("strict", STRICT)
    return sessions_folder() / str(within(A, "step", "strict", "--new")["session"])


def answers() -> dict[str, bool]:
    """Return for each event whether its hook gives an answer."""
    asked = [event for event in EVENTS if event != "session-end"]  # it would release the session
    return {"session-end": False} | {event: bool(hook(event, said(event))) for event in asked}


SILENT = dict.fromkeys(EVENTS, False)
SPEAKING = {**SILENT, "session-start": True, "stop": True, "pre-tool-use": True}

MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "no UTF-8": b"\xff\xfe\x00",
    "deep": b'{"a":' * 100_000,
    "a surrogate": b'{"session_id": "\\ud800", "cwd": "/\\ud800", "tool_name": "\\ud800"}',
    "too long": b'{"x": "' + b"x" * size_limits.HOOK_INPUT_BYTES + b'"}',
}
KEYS = (
    "session_id",
    "cwd",
    "tool_name",
    "tool_input",
    "agent_id",
    "background_tasks",
)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_input_is_answered_with_nothing(name: str, event: str, session: Path) -> None:
    assert hook(event, MALFORMED[name]) == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.dictionaries(
        st.sampled_from([*KEYS, "source", "stop_hook_active"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        ),
    )
)
def test_any_object_is_answered(hook_input: dict[str, Any]) -> None:
    for event in EVENTS:
        hook(event, hook_input)


def test_in_order_hooks_speak(session: Path) -> None:
    assert answers() == SPEAKING


def damage(path: Path, kind: str) -> None:
    if kind == "gone":
        path.unlink()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif kind == "changed":
        path.write_bytes(path.read_bytes().replace(b"strict", b"loosen"))
    elif kind == "folder":
        path.unlink()
        path.mkdir()
    elif kind == "link":
        shutil.copy(path, path.with_suffix(".real"))
        path.unlink()
        path.symlink_to(path.with_suffix(".real"))
    elif kind == "pipe":
        path.unlink()
        os.mkfifo(path)


DAMAGES = ("gone", "empty", "cut", "changed", "folder", "link", "pipe")


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_session_is_ignored(kind: str, session: Path) -> None:
    damage(session / "journal.jsonl", kind)

    assert answers() == SILENT


def test_a_session_that_came_with_a_clone_says_nothing(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(Path.cwd() / "fresh"))
    assert answers() == SILENT
    assert not Path("fresh/flowrail/key").exists(), "no key is made by looking"
    put_skill("other", STRICT)
    flow("step", "other", "--new", "--store", "elsewhere")

    assert answers() == SILENT
    assert accept(session.name).status == 0
    assert answers() == SPEAKING


def test_a_store_of_another_user_is_not_looked_at(session: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(session.parent, 12345, 12345)

    assert answers() == SILENT


def test_where_the_session_is_held_by_another_nobody_waits_long(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flowrail.hooks.start_and_stop._WAIT", 0.01)
    with locked(str(session / "lock"), wait=1, what="the session"):
        assert hook("stop", said("stop")) == {}

    assert hook("stop", said("stop"))


@pytest.mark.parametrize("event", EVENTS)
def test_a_process_answers_whatever_its_streams_are(event: str, session: Path) -> None:
    hook_input = json.dumps(said(event))
    ran = process("hook", event, stdin=hook_input)
    assert (ran.status, ran.err) == (0, "")
    assert bool(ran.data) == SPEAKING[event]
    for closed in range(3):
        before = f"import os; os.close({closed})"
        ran = start_recorded(["hook", event], stdin=hook_input, before=before).ran()
        assert (ran.status, ran.err) == (0, "")


def test_where_the_folder_is_gone_a_process_answers(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    code = f"import os; os.mkdir({str(gone)!r}); os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})"
    ran = process("hook", "stop", stdin='{"session_id": "x"}', before=code)

    assert (ran.status, ran.out, ran.err) == (0, "{}\n", "")


@pytest.mark.parametrize(
    "fault", ["MemoryError()", "KeyboardInterrupt()", "SystemExit(2)", "RecursionError()"]
)
def test_no_fault_of_ours_stops_anybody(fault: str, session: Path) -> None:
    before = f"import flowrail.hooks.entry as h\ndef answer(*_): raise {fault}\nh.import_module = answer"
    ran = process("hook", "stop", stdin=json.dumps(said("stop")), before=before)

    assert (ran.status, ran.out, ran.err) == (0, "{}\n", "")
