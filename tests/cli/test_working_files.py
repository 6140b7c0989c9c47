"""Working files: a folder for each session, named in texts, listed, copied by forks and removed with the session."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.forged import folder_of, rewritten
from support.sandbox import accept, flow, put_skill, told

NOTED = """\
name: NAME
params: {topic: {type: string, default: x}}
steps:
  - {id: first, title: First, actions: ["Write `$notes`.", "Put drafts into `$work/drafts`."], next: {ok: second}}
  - {id: second, title: Second, actions: ["Read `$notes`."], next: {ok: null}}
"""


def test_a_fork_gets_copies_and_pruning_removes_all_of_them() -> None:
    put_skill("noted", NOTED)
    session = told("step", "noted", "--new")["session"]
    Path(".flow/sessions", session, "work", "notes.md").write_text("# Notes\n")
    told("step", "noted", "ok")

    fork = told("session", "rewind", session, "--to", "0", "--as-new")

    copied = Path(fork["work_folder"], "notes.md")
    assert fork["actions"][0] == f"Write `{copied}`."
    assert copied.read_text() == "# Notes\n"
    told("step", "noted", "ok", "--session", session)
    told("session", "prune", "--older-than", "0")
    assert not Path(".flow/sessions", session).exists()
    assert copied.exists()


def test_a_session_in_a_database_says_if_this_machine_does_not_have_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra `sql` is not installed")
    put_skill("noted", NOTED)
    address = f"sqlite:///{tmp_path / 'sessions.db'}"
    assert flow("store", "init", address).status == 0
    monkeypatch.setenv("FLOW_STORE", address)
    session = told("step", "noted", "--new")["session"]
    at_home = flow("resume", session)

    shutil.rmtree(f".flow/sessions/{session}")
    elsewhere = flow("resume", session)

    where = f"copy .flow/sessions/{session}/work from the one that does"
    assert where not in at_home.err
    assert where in elsewhere.err
    assert flow("audit", session, "--verify").status == 0


def test_a_path_in_a_record_is_never_believed(tmp_path: Path) -> None:
    put_skill("noted", NOTED)
    session = told("step", "noted")["session"]
    outside = tmp_path / f"important-{session}"
    outside.mkdir()
    (outside / "notes.md").write_text("mine")

    def change(records: list[dict[str, Any]]) -> None:
        records[-1]["session"].update(work=str(outside))

    rewritten(folder_of(session), change, own=False)
    accept(session)

    assert told("resume", session)["work_folder"] == f".flow/sessions/{session}/work"
    fork = told("session", "rewind", session, "--to", "0", "--as-new")
    assert not Path(fork["work_folder"], "notes.md").exists()
    told("session", "abandon", session)
    told("session", "prune", "--older-than", "0")
    assert (outside / "notes.md").read_text() == "mine"
