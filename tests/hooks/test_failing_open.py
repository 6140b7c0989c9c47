"""Whatever is wrong, the agent is let go: with what a host says, with what lies on disk, with the streams."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.hooks import EVENTS, A, claude_code, hook, raw, within
from support.sandbox import ENTRY, flow, process, put_skill, sessions_folder

from flowrail.hooks import fast_lookup
from flowrail.hosts.protocol import LONGEST_INPUT, read_input
from flowrail.machines.sessions import limits
from flowrail.storage import journal as storage_journal
from flowrail.storage.locking import locked

STRICT = """\
name: NAME
steps:
  - {id: first, title: First, actions: [Do.], forbids: [Edit], next: {ok: second}}
  - {id: second, title: Second, actions: [Do.], next: {ok: null}}
"""
SAID: dict[str, Callable[..., dict[str, Any]]] = {
    "session-start": claude_code,
    "stop": claude_code,
    "subagent-stop": claude_code,
    "pre-tool-use": lambda event, **more: claude_code(
        event, **{"tool_name": "Edit", "tool_input": {}, **more}
    ),
}


@pytest.fixture
def session() -> Path:
    put_skill("strict", STRICT)
    return sessions_folder() / str(within(A, "start", "strict")["session"])


def answers() -> dict[str, bool]:
    """Return which hooks say anything."""
    return {event: bool(hook(event, says(event))) for event, says in SAID.items()}


SPEAKING = {"session-start": True, "stop": True, "subagent-stop": False, "pre-tool-use": True}
SILENT = dict.fromkeys(EVENTS, False)

MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "null": b"null",
    "a number": b"7",
    "a text": b'"stop"',
    "no UTF-8": b"\xff\xfe\x00",
    "two documents": b"{} {}",
    "deep": b'{"a":' * 100_000,
    "deep lists": b"[" * 100_000 + b"]" * 100_000,
    "a huge number": b'{"session_id": ' + b"9" * 100_000 + b"}",
    "a surrogate": b'{"session_id": "\\ud800", "cwd": "/\\ud800", "tool_name": "\\ud800"}',
    "too long": b'{"x": "' + b"x" * LONGEST_INPUT + b'"}',
}
WRONG: list[Any] = [
    None,
    7,
    1.5,
    True,
    "",
    " ",
    "../../etc",
    "a b",
    "x" * 200,
    [],
    ["x"],
    {},
    {"a": {"b": 1}},
]
KEYS = (
    "session_id",
    "cwd",
    "tool_name",
    "tool_input",
    "agent_id",
    "agent_transcript_path",
    "background_tasks",
)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_no_input_is_answered_with_nothing(what: str, event: str, session: Path) -> None:
    assert hook(event, MALFORMED[what]) == {}


def test_a_long_text_is_heard_whatever_stands_in_it() -> None:
    text = '[{,"\\' * 400_000
    said = json.dumps(
        {"session_id": "a", "tool_input": {"content": text, "edits": [{"at": [1, 2]}] * 20_000}}
    )

    heard = read_input(said.encode(), {})

    assert heard is not None
    assert heard.given["content"] == text


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_another_kind_stops_nobody_from_being_answered(key: str, event: str, session: Path) -> None:
    for value in WRONG:
        hook(event, {**SAID[event](event), key: value})
    said = SAID[event](event)
    said.pop(key, None)
    hook(event, said)


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
def test_any_object_is_answered(said: dict[str, Any]) -> None:
    for event in EVENTS:
        hook(event, said)


def test_without_a_conversation_only_facts_are_told(session: Path) -> None:
    for event, says in SAID.items():
        said = says(event)
        del said["session_id"]
        assert bool(hook(event, said)) == (event == "session-start")


def test_in_order_hooks_speak(session: Path) -> None:
    assert answers() == SPEAKING


def damage(path: Path, what: str) -> None:
    if what == "gone":
        path.unlink()
    elif what == "empty":
        path.write_bytes(b"")
    elif what == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif what == "changed":
        path.write_bytes(path.read_bytes().replace(b"strict", b"loosen"))
    elif what == "folder":
        path.unlink()
        path.mkdir()
    elif what == "link":
        shutil.copy(path, path.with_suffix(".real"))
        path.unlink()
        path.symlink_to(path.with_suffix(".real"))
    elif what == "pipe":
        path.unlink()
        os.mkfifo(path)


DAMAGES = ("gone", "empty", "cut", "changed", "folder", "link", "pipe")


@pytest.mark.parametrize("what", DAMAGES)
def test_with_a_damaged_journal_there_is_nothing_to_say(what: str, session: Path) -> None:
    damage(session / "journal.jsonl", what)

    assert answers() == SILENT


@pytest.mark.parametrize("what", DAMAGES)
def test_with_a_damaged_copy_the_session_is_passed_over(what: str, session: Path) -> None:
    damage(session / "session.json", what)

    assert answers() == SILENT


@pytest.mark.parametrize("what", DAMAGES)
def test_with_a_damaged_definition_nothing_is_forbidden(what: str, session: Path) -> None:
    damage(session / "definition.json", what)

    assert answers() == {**SPEAKING, "pre-tool-use": what == "changed"}


def test_a_copy_that_claims_more_than_the_journal_holds_is_not_believed(session: Path) -> None:
    within(A, "session", "abandon", session.name)
    copy = session / "session.json"
    copy.write_text(copy.read_text().replace("abandoned", "active"))

    assert answers() == SILENT


def test_a_copy_that_names_another_conversation_is_not_believed(session: Path) -> None:
    copy = session / "session.json"
    copy.write_text(copy.read_text().replace(A, "mine"))

    for event in ("stop", "pre-tool-use"):
        assert hook(event, {**SAID[event](event), "session_id": "mine"}) == {}


def test_a_copy_of_the_wrong_shape_is_passed_over(session: Path) -> None:
    whole = json.loads((session / "session.json").read_text())
    wrongs: tuple[Any, ...] = (
        [],
        {"session": []},
        {"session": {"status": "active", "host": {"id": A}}},
        {"session": {**whole["session"], "id": "other-abcdef"}},
        {"session": {**whole["session"], "host": A}},
        {"session": {**whole["session"], "host": [A]}},
    )
    for wrong in wrongs:
        (session / "session.json").write_text(
            json.dumps({**whole, **wrong} if isinstance(wrong, dict) else wrong)
        )
        assert not hook("stop", SAID["stop"]("stop"))


def test_a_session_that_came_with_a_clone_says_nothing(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(Path.cwd() / "fresh"))
    assert answers() == SILENT
    assert not Path("fresh").exists(), "no key is made by looking"
    put_skill("other", STRICT)
    flow("start", "other", "--store", "elsewhere")

    assert answers() == SILENT
    assert flow("session", "adopt", session.name).status == 0
    assert answers() == SPEAKING


def test_a_store_of_another_user_is_not_looked_at(session: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(session.parent, 12345, 12345)

    assert answers() == SILENT


def test_a_store_that_is_a_link_is_not_looked_at(session: Path) -> None:
    store = session.parent.parent
    store.rename(store.with_name("real"))
    store.symlink_to(store.with_name("real"))

    assert answers() == SILENT


def test_a_glance_reads_no_more_than_a_session_may_write(session: Path) -> None:
    assert fast_lookup.LARGEST_SNAPSHOT == storage_journal.LARGEST_LINE
    copy = session / "session.json"
    whole = copy.read_text().rstrip().removesuffix("}")
    copy.write_text(f'{whole}, "more": "{"x" * fast_lookup.LARGEST_SNAPSHOT}"}}')

    assert answers() == SILENT


def forged(session: Path, name: str, more: int = 0) -> None:
    """Put a session beside another that nobody of this machine began, and that says to have moved last."""
    folder = session.parent / name
    folder.mkdir(mode=0o700)
    for file in ("session.json", "journal.jsonl", "definition.json"):
        text = (session / file).read_text().replace(session.name, name)
        (folder / file).write_text(text)
    whole = json.loads((folder / "session.json").read_text())
    whole["session"]["moved_at"] = "9999"
    (folder / "session.json").write_text(json.dumps({**whole, "more": "x" * more}))


@pytest.mark.parametrize("bound", ["MOST_READ", "MOST_PARSED"])
def test_copies_of_others_are_read_up_to_a_bound_and_hide_none_of_ones_own(
    session: Path, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        forged(session, f"a-00000{number}", 100_000)
    monkeypatch.setattr(fast_lookup, bound, 150_000)
    shelf = fast_lookup.SessionFolder(str(session.parent.parent), None)

    found = [each.id for each in fast_lookup.open_sessions(shelf)]

    assert found == [session.name, "a-000000", "a-000001"]
    assert answers() == SPEAKING


def test_of_sessions_that_others_made_nothing_is_said(session: Path) -> None:
    for number in range(3):
        forged(session, f"a-00000{number}")

    said = json.dumps(hook("session-start", SAID["session-start"]("session-start")))

    assert session.name in said
    assert "a-00000" not in said


@pytest.mark.parametrize("event", EVENTS)
def test_where_this_user_began_no_session_nobody_looks_for_any(
    event: str, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(Path.cwd() / "fresh"))
    looked: list[str] = []
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: looked.append(str(path)) or real(path))  # type: ignore[func-returns-value]

    assert hook(event, SAID[event](event)) == {}
    assert str(session.parent) not in looked


def test_where_the_session_is_held_by_another_nobody_waits_long(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flowrail.hooks.decisions._WAIT", 0.01)
    with locked(str(session / "lock"), wait=1, what="it"):
        assert hook("stop", SAID["stop"]("stop")) == {}

    assert hook("stop", SAID["stop"]("stop"))


def test_where_the_record_cannot_be_written_nobody_is_held(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (session / "journal.jsonl").stat().st_size
    monkeypatch.setattr(storage_journal, "LARGEST_JOURNAL", size + limits.LAST_ROOM)

    assert hook("stop", SAID["stop"]("stop")) == {}


def test_text_of_others_is_escaped_and_bounded(session: Path) -> None:
    step = "x\u202e`$(rm)\n" + "y" * 3_000
    put_skill("odd", STRICT.replace("forbids: [Edit]", f"forbids: [{json.dumps('Edit(' + '*' * 190 + ')')}]"))
    within(A, "start", "odd")
    held = hook("stop", SAID["stop"]("stop"))
    assert "\u202e" not in json.dumps(held, ensure_ascii=False)
    long = claude_code("pre-tool-use", tool_name="Edit", tool_input={"file_path": step})
    assert len(json.dumps(hook("pre-tool-use", long))) < 1_300


def test_a_long_store_is_no_way_to_a_long_answer(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = Path.cwd() / ("d" * 200) / ("e" * 200) / ("f" * 200) / ("g" * 200)
    deep.mkdir(parents=True)
    monkeypatch.setenv("FLOW_STORE", str(deep))
    within(A, "start", "strict")

    assert answers() == SPEAKING


@pytest.mark.parametrize("event", EVENTS)
def test_a_process_answers_whatever_its_streams_are(event: str, session: Path) -> None:
    said = json.dumps(SAID[event](event))
    ran = process("hook", event, stdin=said)
    assert (ran.status, ran.err) == (0, "")
    assert bool(ran.data) == SPEAKING[event]
    for close in ("0", "1", "2"):
        words = [sys.executable, "-c", f"import os; os.close({close})\n{ENTRY}", "hook", event]
        done = subprocess.run(
            words, input=said, env=dict(os.environ), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_process_that_was_started_without_a_stream_ends_well(closed: str, session: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-c", ENTRY, "hook", "stop"],
        input=json.dumps(SAID["stop"]("stop")), env=dict(os.environ), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


def test_where_the_folder_is_gone_a_process_answers(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    code = f"import os; os.mkdir({str(gone)!r}); os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})"
    ran = process("hook", "stop", stdin='{"session_id": "x"}', before=code)

    assert (ran.status, ran.out, ran.err) == (0, "{}\n", "")


@pytest.mark.parametrize(
    "fault", ["MemoryError()", "KeyboardInterrupt()", "SystemExit(2)", "RecursionError()"]
)
def test_no_fault_of_ours_stops_anybody(fault: str, session: Path) -> None:
    before = f"import flowrail.hooks.dispatch as h\ndef answer(*_): raise {fault}\nh.answer = answer"
    ran = process("hook", "stop", stdin=json.dumps(SAID["stop"]("stop")), before=before)

    assert (ran.status, ran.out, ran.err) == (0, "{}\n", "")


def test_with_more_words_it_is_a_command_like_any_other() -> None:
    assert flow("hook", "stop", "--help").status == 0
    assert flow("hook", "nosuch").status == 2
    assert raw("stop", b"{}").out == "{}\n"
