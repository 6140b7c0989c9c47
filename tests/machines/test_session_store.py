"""Sessions on disk: acknowledged records are never lost, and other records are refused."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flowrail.machines.session import Session
from flowrail.machines.session_record import Record
from flowrail.machines.session_store import Store, UnknownSessionError
from flowrail.machines.stored_definition import StoredDefinition
from flowrail.storage.file_store import FileBackend
from flowrail.storage.user_mark import Owner

ID = "skill-abcdef"
DEFINITION = StoredDefinition("skill", "library", "", "", {}, False, {"name": "skill", "steps": []})


def session(session_id: str = ID, **values: Any) -> Session:
    return Session(**{"id": session_id, "skill": "skill", "step": "first", "visits": {"first": 1}, **values})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "here").mkdir()
    return Store(FileBackend(str(tmp_path / "here" / ".flow"), Owner(str(tmp_path / "state"))))


def create(store: Store, session_id: str = ID) -> Record:
    return store.add(session(session_id), DEFINITION, at="then", by="me")


def move(store: Store, revision: int, **values: Any) -> Record:
    with store.change(ID) as change:
        moved = session(revision=revision, **values)
        return change.commit(moved, kind="move", at="later", by="me")


def journal(store: Store) -> Path:
    return Path(store.folder(ID)) / "journal.jsonl"


def test_a_replaced_definition_is_found_in_its_record(store: Store) -> None:
    create(store)
    move(store, 1)
    other = replace(DEFINITION, file="other.yaml")
    with store.change(ID) as change:
        change.commit(session(revision=2), kind="migrate", at="later", by="me", definition=other)
    with store.change(ID) as change:
        record = change.commit(change.kept.session, kind="move", at="later", by="me")

    assert record.session.definition == 2
    assert store.definition(record.session) == other


def test_files_are_for_their_user_only(store: Store) -> None:
    before = os.umask(0)
    try:
        create(store)
        move(store, 1)
    finally:
        os.umask(before)

    for path in Path(store.path).rglob("*"):
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path
    assert stat.S_IMODE(os.stat(store.path).st_mode) == 0o700


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "../x-abcdef",
        "/etc/x-abcdef",
        "x-abcdef\n",
        "x-abcdef/",
        "x\0-abcdef",
        f"{'x' * 200}-abcdef",
    ],
)
def test_nothing_but_an_id_of_ours_becomes_a_path(store: Store, name: str, tmp_path: Path) -> None:
    create(store)
    shutil.copytree(store.folder(ID), tmp_path / "here" / "x-abcdef")

    for use in (
        store.read,
        lambda session_id: list(store.records(session_id)),
        store.folder,
    ):
        with pytest.raises(UnknownSessionError) as caught:
            use(name)
        assert caught.value.exit_status == 2
    with pytest.raises(UnknownSessionError), store.change(name):
        pass  # pragma: no cover
    with pytest.raises(UnknownSessionError):
        store.add(session(name), DEFINITION, at="", by="")
